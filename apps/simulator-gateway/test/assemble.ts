const OPCODES: Record<string, number> = {
  STOP: 0x00,
  ADD: 0x01,
  SUB: 0x03,
  EQ: 0x14,
  NOT: 0x19,
  SHA3: 0x20,
  ADDRESS: 0x30,
  BALANCE: 0x31,
  ORIGIN: 0x32,
  CALLER: 0x33,
  CALLVALUE: 0x34,
  CALLDATALOAD: 0x35,
  CALLDATASIZE: 0x36,
  CALLDATACOPY: 0x37,
  EXTCODECOPY: 0x3c,
  RETURNDATASIZE: 0x3d,
  RETURNDATACOPY: 0x3e,
  BLOCKHASH: 0x40,
  COINBASE: 0x41,
  TIMESTAMP: 0x42,
  NUMBER: 0x43,
  PREVRANDAO: 0x44,
  GASLIMIT: 0x45,
  CHAINID: 0x46,
  BASEFEE: 0x48,
  POP: 0x50,
  MSTORE: 0x52,
  MSTORE8: 0x53,
  SLOAD: 0x54,
  SSTORE: 0x55,
  JUMP: 0x56,
  JUMPI: 0x57,
  MSIZE: 0x59,
  GAS: 0x5a,
  JUMPDEST: 0x5b,
  TSTORE: 0x5d,
  DUP1: 0x80,
  DUP2: 0x81,
  DUP4: 0x83,
  DUP6: 0x85,
  SWAP1: 0x90,
  LOG0: 0xa0,
  LOG1: 0xa1,
  LOG2: 0xa2,
  LOG3: 0xa3,
  LOG4: 0xa4,
  CREATE: 0xf0,
  CALL: 0xf1,
  RETURN: 0xf3,
  DELEGATECALL: 0xf4,
  STATICCALL: 0xfa,
  REVERT: 0xfd,
  INVALID: 0xfe,
  SELFDESTRUCT: 0xff,
}

/**
 * Runtime bytecode of a program in words: an opcode's name, a number to push, `@name` to mark a jump destination, `>name`
 * to push its position.
 */
export function assemble(program: string): `0x${string}` {
  const labels = new Map<string, number>()
  const code: number[] = []
  const jumps: { at: number; label: string }[] = []
  for (const word of program.trim().split(/\s+/)) {
    if (word.startsWith('@')) {
      labels.set(word.slice(1), code.length)
      code.push(0x5b)
    } else if (word.startsWith('>')) {
      jumps.push({ at: code.length + 1, label: word.slice(1) })
      code.push(0x61, 0, 0)
    } else if (/^\d/.test(word)) {
      const hex = BigInt(word).toString(16)
      const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
      code.push(0x5f + bytes.length, ...bytes)
    } else {
      const opcode = OPCODES[word]
      if (opcode === undefined) throw new Error(`no such word: ${word}`)
      code.push(opcode)
    }
  }
  for (const { at, label } of jumps) {
    const target = labels.get(label)
    if (target === undefined) throw new Error(`no such label: ${label}`)
    code[at] = target >> 8
    code[at + 1] = target & 0xff
  }
  return `0x${Buffer.from(code).toString('hex')}`
}

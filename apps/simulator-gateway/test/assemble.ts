const OPCODES: Record<string, number> = {
  STOP: 0x00,
  ADD: 0x01,
  MUL: 0x02,
  SUB: 0x03,
  DIV: 0x04,
  MOD: 0x06,
  EXP: 0x0a,
  LT: 0x10,
  GT: 0x11,
  EQ: 0x14,
  ISZERO: 0x15,
  AND: 0x16,
  OR: 0x17,
  XOR: 0x18,
  NOT: 0x19,
  BYTE: 0x1a,
  SHL: 0x1b,
  SHR: 0x1c,
  SHA3: 0x20,
  ADDRESS: 0x30,
  BALANCE: 0x31,
  ORIGIN: 0x32,
  CALLER: 0x33,
  CALLVALUE: 0x34,
  CALLDATALOAD: 0x35,
  CALLDATASIZE: 0x36,
  CALLDATACOPY: 0x37,
  CODECOPY: 0x39,
  GASPRICE: 0x3a,
  EXTCODESIZE: 0x3b,
  EXTCODECOPY: 0x3c,
  RETURNDATASIZE: 0x3d,
  RETURNDATACOPY: 0x3e,
  EXTCODEHASH: 0x3f,
  BLOCKHASH: 0x40,
  COINBASE: 0x41,
  TIMESTAMP: 0x42,
  NUMBER: 0x43,
  PREVRANDAO: 0x44,
  GASLIMIT: 0x45,
  CHAINID: 0x46,
  SELFBALANCE: 0x47,
  BASEFEE: 0x48,
  BLOBBASEFEE: 0x4a,
  POP: 0x50,
  MLOAD: 0x51,
  MSTORE: 0x52,
  MSTORE8: 0x53,
  SLOAD: 0x54,
  SSTORE: 0x55,
  JUMP: 0x56,
  JUMPI: 0x57,
  MSIZE: 0x59,
  GAS: 0x5a,
  JUMPDEST: 0x5b,
  TLOAD: 0x5c,
  TSTORE: 0x5d,
  MCOPY: 0x5e,
  DUP1: 0x80,
  DUP2: 0x81,
  DUP4: 0x83,
  DUP5: 0x84,
  DUP6: 0x85,
  SWAP1: 0x90,
  LOG0: 0xa0,
  LOG1: 0xa1,
  LOG2: 0xa2,
  LOG3: 0xa3,
  LOG4: 0xa4,
  CREATE: 0xf0,
  CREATE2: 0xf5,
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

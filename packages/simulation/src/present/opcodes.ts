/** What geth's words for a halt take from its table of instructions (core/vm/jump_table.go, memory_table.go). */
interface Instruction {
  /** Words that it takes from the stack. */
  inputs: number
  /** Its constant gas, where the rest of its price depends on what it finds. */
  gas: bigint
  /** Stack positions of offset and length of the memory that it uses; a bigint is a fixed length. */
  memory: readonly (readonly [offset: number, length: number | bigint])[]
}

const CALL_MEMORY = [
  [5, 6],
  [3, 4],
] as const
const DELEGATED_CALL_MEMORY = [
  [4, 5],
  [2, 3],
] as const

/** Ranges of opcodes; DUP, SWAP and LOG follow from their number, all others take nothing. */
const INSTRUCTIONS: readonly (readonly [
  first: number,
  last: number,
  inputs: number,
  gas?: bigint,
  memory?: Instruction['memory'],
])[] = [
  [0x01, 0x07, 2],
  [0x08, 0x09, 3],
  [0x0a, 0x0b, 2],
  [0x10, 0x14, 2],
  [0x15, 0x15, 1],
  [0x16, 0x18, 2],
  [0x19, 0x19, 1],
  [0x1a, 0x1d, 2],
  [0x1e, 0x1e, 1],
  [0x20, 0x20, 2, 30n, [[0, 1]]],
  [0x31, 0x31, 1],
  [0x35, 0x35, 1],
  [0x37, 0x37, 3, 3n, [[0, 2]]],
  [0x39, 0x39, 3, 3n, [[0, 2]]],
  [0x3b, 0x3b, 1],
  [0x3c, 0x3c, 4, 100n, [[1, 3]]],
  [0x3e, 0x3e, 3, 3n, [[0, 2]]],
  [0x3f, 0x40, 1],
  [0x49, 0x49, 1],
  [0x50, 0x50, 1],
  [0x51, 0x51, 1, 3n, [[0, 32n]]],
  [0x52, 0x52, 2, 3n, [[0, 32n]]],
  [0x53, 0x53, 2, 3n, [[0, 1n]]],
  [0x54, 0x54, 1],
  [0x55, 0x55, 2],
  [0x56, 0x56, 1],
  [0x57, 0x57, 2],
  [0x5c, 0x5c, 1],
  [0x5d, 0x5d, 2],
  [
    0x5e,
    0x5e,
    3,
    3n,
    [
      [0, 2],
      [1, 2],
    ],
  ],
  [0xf0, 0xf0, 3, 32_000n, [[1, 2]]],
  [0xf1, 0xf2, 7, 100n, CALL_MEMORY],
  [0xf3, 0xf3, 2, 0n, [[0, 1]]],
  [0xf4, 0xf4, 6, 100n, DELEGATED_CALL_MEMORY],
  [0xf5, 0xf5, 4, 32_000n, [[1, 2]]],
  [0xfa, 0xfa, 6, 100n, DELEGATED_CALL_MEMORY],
  [0xfd, 0xfd, 2, 0n, [[0, 1]]],
  [0xff, 0xff, 1, 5_000n],
]

/** Opcodes that leave the stack as high as it was, though they take nothing. */
const LEAVE_NOTHING = [0x00, 0x5b, 0xfe]

/** geth's names (core/vm/opcodes.go), in rows of opcodes that follow one another; PUSH, DUP, SWAP and LOG follow from their number. */
const NAMES: readonly (readonly [first: number, names: string])[] = [
  [0x00, 'STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND'],
  [0x10, 'LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ'],
  [0x20, 'KECCAK256'],
  [
    0x30,
    'ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH BLOCKHASH COINBASE TIMESTAMP NUMBER DIFFICULTY GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE SLOTNUM',
  ],
  [0x50, 'POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0'],
  [0xd0, 'DATALOAD DATALOADN DATASIZE DATACOPY'],
  [0xe0, 'RJUMP RJUMPI RJUMPV CALLF RETF JUMPF DUPN SWAPN EXCHANGE'],
  [0xec, 'EOFCREATE'],
  [0xee, 'RETURNCONTRACT'],
  [0xf0, 'CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2'],
  [0xf7, 'RETURNDATALOAD EXTCALL EXTDELEGATECALL STATICCALL EXTSTATICCALL'],
  [0xfd, 'REVERT INVALID SELFDESTRUCT'],
]

const NAME_OF = new Map(
  NAMES.flatMap(([first, names]) => names.split(' ').map((name, index) => [first + index, name] as const)),
)

export function instructionOf(opcode: number): Instruction {
  const [, , inputs = 0, gas = 0n, memory = []] =
    INSTRUCTIONS.find(([first, last]) => opcode >= first && opcode <= last) ?? []
  if (opcode >= 0x80 && opcode <= 0x8f) return { inputs: opcode - 0x7f, gas, memory }
  if (opcode >= 0x90 && opcode <= 0x9f) return { inputs: opcode - 0x8e, gas, memory }
  if (opcode >= 0xa0 && opcode <= 0xa4) return { inputs: opcode - 0x9e, gas, memory: [[0, 1]] }
  return { inputs, gas, memory }
}

/** Whether the stack is higher by a word after it. */
export function growsStack(opcode: number): boolean {
  if (opcode >= 0x80 && opcode <= 0x8f) return true
  return instructionOf(opcode).inputs === 0 && !LEAVE_NOTHING.includes(opcode)
}

/** Ranges of opcodes with what geth takes for them whatever they find (core/vm/jump_table.go); nothing for all others. */
const CONSTANT_GAS: readonly (readonly [first: number, last: number, gas: bigint])[] = [
  [0x01, 0x01, 3n],
  [0x02, 0x02, 5n],
  [0x03, 0x03, 3n],
  [0x04, 0x07, 5n],
  [0x08, 0x09, 8n],
  [0x0b, 0x0b, 5n],
  [0x10, 0x1d, 3n],
  [0x1e, 0x1e, 5n],
  [0x20, 0x20, 30n],
  [0x30, 0x30, 2n],
  [0x31, 0x31, 100n],
  [0x32, 0x34, 2n],
  [0x35, 0x35, 3n],
  [0x36, 0x36, 2n],
  [0x37, 0x37, 3n],
  [0x38, 0x38, 2n],
  [0x39, 0x39, 3n],
  [0x3a, 0x3a, 2n],
  [0x3b, 0x3c, 100n],
  [0x3d, 0x3d, 2n],
  [0x3e, 0x3e, 3n],
  [0x3f, 0x3f, 100n],
  [0x40, 0x40, 20n],
  [0x41, 0x46, 2n],
  [0x47, 0x47, 5n],
  [0x48, 0x48, 2n],
  [0x49, 0x49, 3n],
  [0x4a, 0x4a, 2n],
  [0x50, 0x50, 2n],
  [0x51, 0x53, 3n],
  [0x56, 0x56, 8n],
  [0x57, 0x57, 10n],
  [0x58, 0x5a, 2n],
  [0x5b, 0x5b, 1n],
  [0x5c, 0x5d, 100n],
  [0x5e, 0x5e, 3n],
  [0x5f, 0x5f, 2n],
  [0x60, 0x9f, 3n],
  [0xf0, 0xf0, 32_000n],
  [0xf1, 0xf2, 100n],
  [0xf4, 0xf4, 100n],
  [0xf5, 0xf5, 32_000n],
  [0xfa, 0xfa, 100n],
  [0xff, 0xff, 5_000n],
]

export function constantGas(opcode: number): bigint {
  return CONSTANT_GAS.find(([first, last]) => opcode >= first && opcode <= last)?.[2] ?? 0n
}

/** The opcode's name, as geth has it. */
export function opcodeName(opcode: number): string {
  if (opcode >= 0x60 && opcode <= 0x7f) return `PUSH${opcode - 0x5f}`
  if (opcode >= 0x80 && opcode <= 0x8f) return `DUP${opcode - 0x7f}`
  if (opcode >= 0x90 && opcode <= 0x9f) return `SWAP${opcode - 0x8f}`
  if (opcode >= 0xa0 && opcode <= 0xa4) return `LOG${opcode - 0xa0}`
  return NAME_OF.get(opcode) ?? `opcode 0x${opcode.toString(16)} not defined`
}

/** The end of the memory that an instruction with these operands wants, bytes; too few operands count as zero. */
export function memoryEnd(opcode: number, operands: readonly bigint[]): bigint {
  let end = 0n
  for (const [offset, length] of instructionOf(opcode).memory) {
    const bytes = typeof length === 'bigint' ? length : (operands[length] ?? 0n)
    const last = bytes === 0n ? 0n : (operands[offset] ?? 0n) + bytes
    if (last > end) end = last
  }
  return end
}

/** The price of having so much memory. */
export function memoryGas(bytes: bigint): bigint {
  const words = wordsOf(bytes)
  return 3n * words + (words * words) / 512n
}

export function wordsOf(bytes: bigint): bigint {
  return (bytes + 31n) / 32n
}

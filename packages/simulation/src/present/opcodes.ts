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

/** geth's names of opcodes that a fork from Paris to Osaka may not have. */
const NAMES: Record<number, string> = {
  30: 'CLZ',
  73: 'BLOBHASH',
  74: 'BLOBBASEFEE',
  75: 'SLOTNUM',
  92: 'TLOAD',
  93: 'TSTORE',
  94: 'MCOPY',
  95: 'PUSH0',
  208: 'DATALOAD',
  209: 'DATALOADN',
  210: 'DATASIZE',
  211: 'DATACOPY',
  224: 'RJUMP',
  225: 'RJUMPI',
  226: 'RJUMPV',
  227: 'CALLF',
  228: 'RETF',
  229: 'JUMPF',
  230: 'DUPN',
  231: 'SWAPN',
  232: 'EXCHANGE',
  236: 'EOFCREATE',
  238: 'RETURNCONTRACT',
  247: 'RETURNDATALOAD',
  248: 'EXTCALL',
  249: 'EXTDELEGATECALL',
  251: 'EXTSTATICCALL',
  254: 'INVALID',
}

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

export function opcodeName(opcode: number): string {
  return NAMES[opcode] ?? `opcode 0x${opcode.toString(16)} not defined`
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

/** How many stack items each opcode of a range needs. Those of DUP, SWAP and LOG follow from their number; all others need none. */
const STACK_ITEMS: readonly (readonly [first: number, last: number, items: number])[] = [
  [0x01, 0x07, 2],
  [0x08, 0x09, 3],
  [0x0a, 0x0b, 2],
  [0x10, 0x14, 2],
  [0x15, 0x15, 1],
  [0x16, 0x18, 2],
  [0x19, 0x19, 1],
  [0x1a, 0x1d, 2],
  [0x1e, 0x1e, 1],
  [0x20, 0x20, 2],
  [0x31, 0x31, 1],
  [0x35, 0x35, 1],
  [0x37, 0x37, 3],
  [0x39, 0x39, 3],
  [0x3b, 0x3b, 1],
  [0x3c, 0x3c, 4],
  [0x3e, 0x3e, 3],
  [0x3f, 0x40, 1],
  [0x49, 0x49, 1],
  [0x50, 0x51, 1],
  [0x52, 0x53, 2],
  [0x54, 0x54, 1],
  [0x55, 0x55, 2],
  [0x56, 0x56, 1],
  [0x57, 0x57, 2],
  [0x5c, 0x5c, 1],
  [0x5d, 0x5d, 2],
  [0x5e, 0x5e, 3],
  [0xf0, 0xf0, 3],
  [0xf1, 0xf2, 7],
  [0xf3, 0xf3, 2],
  [0xf4, 0xf4, 6],
  [0xf5, 0xf5, 4],
  [0xfa, 0xfa, 6],
  [0xfd, 0xfd, 2],
  [0xff, 0xff, 1],
]

/** geth's names of opcodes that a fork from Paris to Osaka may not have yet. */
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

export function stackItems(opCode: number): number {
  if (opCode >= 0x80 && opCode <= 0x8f) return opCode - 0x7f
  if (opCode >= 0x90 && opCode <= 0x9f) return opCode - 0x8e
  if (opCode >= 0xa0 && opCode <= 0xa4) return opCode - 0x9e
  return STACK_ITEMS.find(([first, last]) => opCode >= first && opCode <= last)?.[2] ?? 0
}

export function opcodeName(opCode: number): string {
  return NAMES[opCode] ?? `opcode 0x${opCode.toString(16)} not defined`
}

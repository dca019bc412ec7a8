const RICH = `0xa${'0'.repeat(39)}`
const CALLS = 48
/** Times in genesis.json. Before Prague, calls and creations halt with other texts. */
const TIMES = { shanghai: 1_101, osaka: 4_101 }

/** Instructions whose error text depends on their operands, with the number of operands. */
const INSTRUCTIONS: Record<string, readonly [opcode: number, operands: number]> = {
  EXP: [0x0a, 2],
  KECCAK256: [0x20, 2],
  BALANCE: [0x31, 1],
  CALLDATACOPY: [0x37, 3],
  EXTCODECOPY: [0x3c, 4],
  RETURNDATACOPY: [0x3e, 3],
  MLOAD: [0x51, 1],
  MSTORE: [0x52, 2],
  MSTORE8: [0x53, 2],
  SLOAD: [0x54, 1],
  SSTORE: [0x55, 2],
  LOG0: [0xa0, 2],
  LOG4: [0xa4, 6],
  CREATE: [0xf0, 3],
  CALL: [0xf1, 7],
  CALLCODE: [0xf2, 7],
  RETURN: [0xf3, 2],
  DELEGATECALL: [0xf4, 6],
  CREATE2: [0xf5, 4],
  STATICCALL: [0xfa, 6],
  REVERT: [0xfd, 2],
  SELFDESTRUCT: [0xff, 1],
}

const VALUES = [
  0n,
  1n,
  0xc001n,
  0x1fffffffdfn,
  0x1fffffffe0n,
  0x1fffffffe1n,
  2n ** 64n - 33n,
  2n ** 64n - 32n,
  2n ** 64n - 31n,
  2n ** 64n - 1n,
  2n ** 64n,
  2n ** 256n - 1n,
]

/** Gas left before the instruction: around its minimum cost, and a lot. */
const GAS = [
  0, 1, 2, 3, 29, 30, 99, 100, 375, 2_299, 2_300, 2_301, 2_600, 5_000, 7_599, 9_100, 11_600, 31_999, 32_000, 999_999,
]

/** Calls that halt at an instruction for lack of gas, operands or memory, for which geth has many texts. */
export const HALT_REQUESTS: Readonly<Record<string, object>> = Object.fromEntries([
  ...Object.entries(TIMES).flatMap(([fork, time]) =>
    Object.entries(INSTRUCTIONS).map(([name, instruction]) => [
      `${name} that halts in ${fork}`,
      requestOf(time, ...instruction),
    ]),
  ),
  ['words by number', wordsByNumber()],
])

/** DUPN, SWAPN and EXCHANGE (EIP-8024) on stacks of different heights: the immediate byte is missing, invalid, or names a word. */
function wordsByNumber(): object {
  const codes = ['e6', 'e7', 'e8'].flatMap((opcode) =>
    ['', '5b', '80', '8e', '50'].flatMap((byte) =>
      [0, 1, 2, 16, 17, 18, 30].map((height) => `0x${'5f'.repeat(height)}${opcode}${byte}`),
    ),
  )
  const to = (index: number) => `0xe${index.toString(16).padStart(39, '0')}`
  const calls = codes.map((_, index) => ({ from: RICH, to: to(index), gas: '0x186a0' }))
  const stateOverrides = Object.fromEntries(codes.map((code, index) => [to(index), { code }]))
  return { blockStateCalls: [{ blockOverrides: { time: `0x${TIMES.osaka.toString(16)}` }, stateOverrides, calls }] }
}

function requestOf(time: number, opcode: number, operands: number): object {
  let state = opcode * 0x9e3779b1 + time
  const pick = <T>(items: readonly T[]): T => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return items[(state >>> 8) % items.length]!
  }
  const stateOverrides: Record<string, object> = {}
  const calls = Array.from({ length: CALLS }, (_, index) => {
    const to = `0xe${index.toString(16).padStart(39, '0')}`
    // Sometimes one operand is missing.
    const pushed = pick([0, 0, 0, 0, 0, 0, 0, 1]) === 1 ? operands - 1 : operands
    const pushes = Array.from({ length: pushed }, () => `7f${pick(VALUES).toString(16).padStart(64, '0')}`)
    stateOverrides[to] = { code: `0x${pushes.join('')}${opcode.toString(16).padStart(2, '0')}` }
    return { from: RICH, to, gas: `0x${(21_000 + 3 * pushed + pick(GAS)).toString(16)}` }
  })
  return { blockStateCalls: [{ blockOverrides: { time: `0x${time.toString(16)}` }, stateOverrides, calls }] }
}

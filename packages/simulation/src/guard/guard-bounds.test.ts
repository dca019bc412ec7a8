import type { CallRecord, Frame } from '../engine/call-record.js'
import { guardBounds } from './guard-bounds.js'
import { guardCalls } from './guard-contract.js'

const OWNER = `0x${'a1'.repeat(20)}` as const
const ROUTER = `0x${'b2'.repeat(20)}` as const
const TOKEN = `0x${'c3'.repeat(20)}` as const
const ZERO = `0x${'00'.repeat(20)}` as const
const word = (value: bigint | string) => `0x${BigInt(value).toString(16).padStart(64, '0')}` as const
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'

function recordOf(logs: Frame['logs'], value = 0n): CallRecord {
  const frame: Frame = {
    ...{ kind: 'CALL', depth: 0, from: OWNER, to: ROUTER, input: '0x', output: '0x', gas: 1n, gasUsed: 1n },
    ...{ value, reverted: false, isPrecompile: false, logs },
  }
  return {
    ...{ gas: 1n, gasUsed: 1n, accounts: [], probed: [], probeGas: 0n },
    preimages: [],
    frames: [frame],
  }
}
const log = (topic: typeof TRANSFER | typeof APPROVAL, first: string, second: string, amount: bigint) => ({
  ...{ position: 0, address: TOKEN, data: word(amount) },
  topics: [topic, word(first), word(second)] as const,
})

it('guardBounds bounds sent and received amounts, 1% worse at most, and the called contract’s allowance', () => {
  const bounds = guardBounds(recordOf([log(TRANSFER, ROUTER, OWNER, 1_000n)] as never, 500n))
  expect(bounds).toEqual([
    { token: ZERO, spender: ZERO, least: -505n },
    { token: TOKEN, spender: ZERO, least: 990n },
    { token: TOKEN, spender: ROUTER, least: 0n },
  ])
})

it('guardBounds allows approvals up to the shown amount, and does not bound unlimited ones', () => {
  expect(guardBounds(recordOf([log(APPROVAL, OWNER, ROUTER, 7n)] as never))).toContainEqual({
    ...{ token: TOKEN, spender: ROUTER, least: 7n },
  })
  const endless = guardBounds(recordOf([log(APPROVAL, OWNER, ROUTER, (1n << 256n) - 1n)] as never))
  expect(endless).toEqual([{ token: ZERO, spender: ZERO, least: 0n }])
})

it.each([
  [[ROUTER, OWNER], (1n << 255n) - 1n],
  [[OWNER, ROUTER], 1n - (1n << 255n)],
] as const)('guardBounds keeps amounts that a token only claims within int256: %j', ([from, to], least) => {
  const bounds = guardBounds(recordOf(Array(2).fill(log(TRANSFER, from, to, (1n << 256n) - 1n)) as never))
  expect(bounds).toContainEqual({ token: TOKEN, spender: ZERO, least })
  expect(guardCalls(bounds).close).toMatch(/^0x/)
})

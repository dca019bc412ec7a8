import { NOBODY, planOf } from '@upfront/engine-conformance'
import { writePlan } from './border/records.js'
import { isLongPlan, writePlanInPieces } from './write-plan.js'

const MANY = 10_000
const MOST = 262_144

const slot = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
const map = (key: (n: number) => string, value: unknown, count = MANY) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [key(n), value]))
const code = `0x${'60'.repeat(600_000)}`
const authorization = { chainId: '0x1', address: NOBODY, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' }
const withdrawals = Array.from({ length: MANY }, (_, n) => ({
  index: `0x${n.toString(16)}`,
  validatorIndex: '0x1',
  address: NOBODY,
  amount: '0x1',
}))

it.each([
  ['overrides', [{ stateOverrides: map(address, { balance: '0x1' }) }]],
  ['slots', [{ stateOverrides: { [NOBODY]: { stateDiff: map(slot, slot(1)) } } }]],
  ['all slots of accounts', [{ stateOverrides: map(address, { state: map(slot, slot(1), 100) }, 100) }]],
  ['calls', Array(2).fill({ calls: Array(MANY / 2).fill({ to: NOBODY }) })],
  ['keys', [{ calls: [{ accessList: [{ address: NOBODY, storageKeys: Array(MANY).fill(slot(1)) }] }] }]],
  ['access lists', [{ calls: [{ accessList: Array(MANY).fill({ address: NOBODY, storageKeys: [] }) }] }]],
  ['authorizations', [{ calls: [{ to: NOBODY, authorizationList: Array(MANY).fill(authorization) }] }]],
  ['withdrawals', [{ blockOverrides: { withdrawals } }]],
  ['blocks with some of each', Array(20).fill({ stateOverrides: map(address, { code: '0x60' }, 500), calls: [{}] })],
  ['bytes of code', [{ stateOverrides: { [NOBODY]: { code, nonce: '0x1' } }, calls: [{}] }]],
  ['bytes of input', [{ calls: [{ input: code }, {}] }]],
  ['inputs', [{ calls: Array(30).fill({ input: `0x${'60'.repeat(20_000)}` }) }]],
])('writes many %s in pieces that join to the plan written at once', (_, blockStateCalls) => {
  const plan = planOf({ blockStateCalls })
  const whole = writePlan(planOf({ blockStateCalls }))
  expect(isLongPlan(plan)).toBe(true)
  const pieces: string[] = []
  const work = writePlanInPieces(plan, (piece) => pieces.push(piece))
  let turns = 1
  let end = work.next()
  for (; !end.done; end = work.next()) turns += 1
  pieces.push(end.value)
  expect(pieces.join('') === whole).toBe(true)
  expect(turns).toBe(pieces.length)
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(1.2 * MOST)
})

it('does not treat a short plan as long', () => {
  expect(
    isLongPlan(planOf({ blockStateCalls: [{ stateOverrides: { [NOBODY]: { nonce: '0x1' } }, calls: [{}] }] })),
  ).toBe(false)
})

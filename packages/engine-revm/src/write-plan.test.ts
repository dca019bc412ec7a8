import { NOBODY, planOf } from '@upfront/engine-conformance'
import { writePlan } from './border/records.js'
import { isLongPlan, writePlanInParts } from './write-plan.js'

const MANY = 4_000
const PER_PART = 1_024

const slot = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
const map = (key: (n: number) => string, value: unknown) =>
  Object.fromEntries(Array.from({ length: MANY }, (_, n) => [key(n), value]))

it.each([
  ['overrides', { stateOverrides: map(address, { balance: '0x1' }) }],
  ['slots', { stateOverrides: { [NOBODY]: { stateDiff: map(slot, slot(1)) } } }],
  ['calls', { calls: Array(MANY).fill({ to: NOBODY }) }],
  ['keys', { calls: [{ accessList: [{ address: NOBODY, storageKeys: Array(MANY).fill(slot(1)) }] }] }],
  ['access lists', { calls: [{ accessList: Array(MANY).fill({ address: NOBODY, storageKeys: [] }) }] }],
])('writes many %s a part at a time, as they are written at once', (_, block) => {
  const payload = { blockStateCalls: [block] }
  const plan = planOf(payload)
  expect(isLongPlan(plan)).toBe(true)
  const work = writePlanInParts(plan)
  let parts = 0
  let end = work.next()
  for (; !end.done; end = work.next()) parts += 1
  // One more for the addon's copy.
  expect(parts).toBe(Math.ceil(MANY / PER_PART) + 1)
  expect(end.value).toBe(writePlan(planOf(payload)))
})

it.each([
  ['code', { stateOverrides: { [NOBODY]: { code: `0x${'60'.repeat(600_000)}` } } }],
  ['input', { calls: [{ input: `0x${'60'.repeat(600_000)}` }] }],
])('leaves copying long %s to the next turn', (_, block) => {
  const plan = planOf({ blockStateCalls: [block] })
  expect(isLongPlan(plan)).toBe(true)
  const work = writePlanInParts(plan)
  expect([work.next().done, work.next().value]).toEqual([false, writePlan(plan)])
})

it('writes what is short at once', () => {
  expect(
    isLongPlan(planOf({ blockStateCalls: [{ stateOverrides: { [NOBODY]: { nonce: '0x1' } }, calls: [{}] }] })),
  ).toBe(false)
})

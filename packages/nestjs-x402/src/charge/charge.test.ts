import type { ChargePolicy } from '../routes/charge-policy.js'
import { decideCharge } from './charge.js'
import type { HandlerEnd } from './handler-end.js'

const policy: ChargePolicy = {
  unset: '$0.02',
  failure: { '4xx': '$0.01', '5xx': 'nothing' },
  timeout: '$0.005',
  partial: 'maximum',
}
const decide = (end: HandlerEnd, set?: unknown, invalid?: 'maximum' | 'refuse') =>
  decideCharge(end, set, {
    scheme: 'upto',
    maximum: 100_000n,
    decimals: 6,
    policy: { ...policy, ...(invalid === undefined ? {} : { invalid }) },
  })
const ok: HandlerEnd = { kind: 'answered', status: 200 }

it.each<[HandlerEnd, unknown, bigint, string]>([
  [ok, '30000', 30_000n, 'usage'],
  [ok, '$0.03', 30_000n, 'usage'],
  [ok, '$0.0300009', 30_000n, 'usage'],
  [ok, '33.33%', 33_330n, 'usage'],
  [ok, undefined, 20_000n, 'unset'],
  [{ kind: 'answered', status: 302 }, '1', 1n, 'usage'],
  [{ kind: 'answered', status: 400 }, '30000', 10_000n, 'failure'],
  [{ kind: 'answered', status: 500 }, '30000', 0n, 'failure'],
  [{ kind: 'timeout' }, '30000', 5_000n, 'timeout'],
  [{ kind: 'partial' }, '30000', 100_000n, 'partial'],
])('%j with the amount %p is charged %s, reason %s', (end, set, amount, reason) => {
  expect(decide(end, set)).toEqual({ amount, reason, refused: false })
})

it.each(['100001', '-1', '$', '', ' 5', '5 ', 5, null, {}, '9'.repeat(79)])(
  'an invalid amount (%p) is refused, or charged the maximum if the policy says so',
  (set) => {
    expect(decide(ok, set)).toMatchObject({ amount: 0n, reason: 'invalid', refused: true })
    expect(decide(ok, set, 'maximum')).toMatchObject({
      amount: 100_000n,
      reason: 'invalid',
      refused: false,
      fault: expect.any(String),
    })
    expect(decide(ok, set, 'refuse')).toMatchObject({ amount: 0n, reason: 'invalid', refused: true })
  },
)

it('caps an amount of the policy at the maximum', () => {
  const terms = { scheme: 'upto', maximum: 10n, decimals: 6, policy }
  expect(decideCharge(ok, undefined, terms).amount).toBe(10n)
})

import { decodeAuthorizeResult, encodeAuthorizeResult } from './authorize.js'
import { decodePayment, encodePayment, isFinal, PAYMENT_STATES, type Payment } from './payment.js'

const payment: Payment = {
  id: 'pay_1',
  scheme: 'upto',
  state: 'submitted',
  network: 'eip155:8453',
  asset: `0x${'01'.repeat(20)}`,
  payer: `0x${'02'.repeat(20)}`,
  payTo: `0x${'03'.repeat(20)}`,
  facilitator: `0x${'04'.repeat(20)}`,
  nonce: 2n ** 256n - 1n,
  maximum: 100_000n,
  charge: 30_000n,
  deadline: 1_800_000_000n,
  route: 'GET /metered',
  reason: 'usage',
  transaction: `0x${'05'.repeat(32)}`,
  blockNumber: null,
  gasUsed: null,
  feePaid: null,
  doubt: null,
  createdAt: '2026-11-21T00:00:00.000Z',
  chargedAt: '2026-11-21T00:00:01.000Z',
  submittedAt: null,
  finishedAt: null,
}

describe('payments on the wire', () => {
  it('are unchanged after encoding as JSON and decoding', () => {
    expect(decodePayment(JSON.parse(JSON.stringify(encodePayment(payment))))).toEqual(payment)
    const result = { outcome: 'authorized', payment } as const
    expect(decodeAuthorizeResult(JSON.parse(JSON.stringify(encodeAuthorizeResult(result))))).toEqual(result)
  })

  it('are rejected with the name of the malformed field', () => {
    expect(() => decodePayment({ ...encodePayment(payment), state: 'lost' })).toThrow('payment.state: expected one of')
    expect(() => decodePayment({ ...encodePayment(payment), charge: '0x1' })).toThrow('payment.charge: ')
  })

  it('are final if settled, failed, zero, released or expired', () => {
    expect(PAYMENT_STATES.filter(isFinal)).toEqual(['settled', 'failed', 'zero', 'released', 'expired'])
  })
})

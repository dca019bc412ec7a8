import { decodePermit2Payment } from './permit2-payload.js'

const address = (digit: string) => `0x${digit.repeat(40)}`

function payload(change: (authorization: Record<string, unknown>) => void = () => {}) {
  const permit2Authorization: Record<string, unknown> = {
    from: address('A'),
    permitted: { token: address('b'), amount: '100000' },
    spender: address('c'),
    nonce: '7',
    deadline: '1800000000',
    witness: { to: address('d'), facilitator: address('e'), validAfter: '0' },
  }
  change(permit2Authorization)
  return {
    x402Version: 2,
    accepted: {
      scheme: 'upto',
      network: 'eip155:31337',
      asset: address('b'),
      amount: '100000',
      payTo: address('d'),
      maxTimeoutSeconds: 60,
    },
    payload: { signature: `0x${'11'.repeat(65)}`, permit2Authorization },
  }
}

describe('decodePermit2Payment', () => {
  it('gives bigints and lower-case addresses', () => {
    const { authorization, accepted } = decodePermit2Payment(payload())
    expect(authorization.payer).toBe(address('a'))
    expect(authorization.maximum).toBe(100_000n)
    expect(accepted.maxTimeoutSeconds).toBe(60)
  })

  it('leaves out who settles it where the scheme is exact', () => {
    const exact = payload((authorization) => {
      authorization.witness = { to: address('d'), validAfter: '0' }
    })
    exact.accepted.scheme = 'exact'
    expect(decodePermit2Payment(exact).authorization).toMatchObject({ kind: 'exact-permit2', facilitator: null })
  })

  it.each(['0x186a0', '0100000', ' 1', '1e5', '+1', '-1', '', 100000, null, (2n ** 256n).toString()])(
    'refuses the amount %p and names it',
    (amount) => {
      const encoded = payload((authorization) => {
        authorization.permitted = { token: address('b'), amount }
      })
      expect(() => decodePermit2Payment(encoded)).toThrow(
        /^paymentPayload\.payload\.permit2Authorization\.permitted\.amount: /,
      )
    },
  )

  it.each(['nonce', 'deadline', 'from', 'spender', 'permitted', 'witness'])('refuses a missing %s', (field) => {
    const encoded = payload((authorization) => {
      delete authorization[field]
    })
    expect(() => decodePermit2Payment(encoded)).toThrow(`paymentPayload.payload.permit2Authorization.${field}`)
  })

  it.each([null, 7, [], 'x', {}, { x402Version: 1 }])('refuses %j', (value) => {
    expect(() => decodePermit2Payment(value)).toThrow('paymentPayload')
  })
})

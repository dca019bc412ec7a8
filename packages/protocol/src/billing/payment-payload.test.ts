import { decodePaymentPayload, encodePaymentPayload } from './payment-payload.js'

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

describe('decodePaymentPayload', () => {
  it('decodes amounts to bigints and addresses to lower case', () => {
    const { authorization, accepted } = decodePaymentPayload(payload())
    expect(authorization.payer).toBe(address('a'))
    expect(authorization.maximum).toBe(100_000n)
    expect(accepted.maxTimeoutSeconds).toBe(60)
  })

  it('decodes a payment of the exact scheme without a facilitator', () => {
    const exact = payload((authorization) => {
      authorization.witness = { to: address('d'), validAfter: '0' }
    })
    exact.accepted.scheme = 'exact'
    expect(decodePaymentPayload(exact).authorization).toMatchObject({ kind: 'exact-permit2', facilitator: null })
  })

  it.each(['upto', 'exact'])('decodes an encoded Permit2 payment of scheme %s to the same payment', (scheme) => {
    const sent = payload()
    sent.accepted.scheme = scheme
    const decoded = decodePaymentPayload({ ...sent, unknown: 1 })
    expect(decodePaymentPayload(encodePaymentPayload(decoded))).toEqual(decoded)
    expect(encodePaymentPayload(decoded)).not.toHaveProperty('unknown')
  })

  it('decodes an encoded EIP-3009 payment to the same payment', () => {
    const { accepted, ...sent } = payload()
    const validBefore = '1800000000'
    const nonce = `0x${'07'.repeat(32)}`
    const signed = { from: address('a'), to: address('d'), value: '100000', validAfter: '0', validBefore, nonce }
    const written = {
      ...sent,
      accepted: { ...accepted, scheme: 'exact', extra: {} },
      payload: { signature: sent.payload.signature, authorization: signed },
    }
    expect(encodePaymentPayload(decodePaymentPayload(written))).toEqual(written)
  })

  it.each(['0x186a0', '0100000', ' 1', '1e5', '+1', '-1', '', 100000, null, (2n ** 256n).toString()])(
    'rejects the amount %p and names its field',
    (amount) => {
      const encoded = payload((authorization) => {
        authorization.permitted = { token: address('b'), amount }
      })
      expect(() => decodePaymentPayload(encoded)).toThrow(
        /^paymentPayload\.payload\.permit2Authorization\.permitted\.amount: /,
      )
    },
  )

  it.each(['nonce', 'deadline', 'from', 'spender', 'permitted', 'witness'])('rejects a payload without %s', (field) => {
    const encoded = payload((authorization) => {
      delete authorization[field]
    })
    expect(() => decodePaymentPayload(encoded)).toThrow(`paymentPayload.payload.permit2Authorization.${field}`)
  })

  it.each([null, 7, [], 'x', {}, { x402Version: 1 }])('rejects %j', (value) => {
    expect(() => decodePaymentPayload(value)).toThrow('paymentPayload')
  })
})

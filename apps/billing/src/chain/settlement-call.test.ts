import {
  decodeSettlement,
  EXACT_PROXY,
  encodeSettlement,
  isNonceUsed,
  settlementTarget,
  UPTO_PROXY,
} from './settlement-call.js'

const address = (digit: string) => `0x${digit.repeat(40)}` as const

describe('decodeSettlement', () => {
  const permit = { permitDeadline: 2n, permitSignature: `0x${'22'.repeat(64)}1b` } as const
  const none = { permitDeadline: null, permitSignature: null }
  const signature = `0x${'11'.repeat(65)}` as const
  it.each([
    ['upto-permit2', none, signature],
    ['upto-permit2', permit, signature],
    ['exact-permit2', none, signature],
    ['exact-permit2', permit, signature],
    ['exact-eip3009', none, signature],
    ['exact-eip3009', none, `${signature}22`],
  ] as const)(
    'returns the kind, payer and nonce that encodeSettlement wrote: %s, permit %j',
    (kind, permitted, signature) => {
      const nonce = 2n ** 256n - 1n
      const terms = {
        ...{ kind, asset: address('a'), maximum: 5n, nonce, deadline: 1n, payer: address('b'), payTo: address('c') },
        ...{ facilitator: address('d'), validAfter: 0n, signature, ...permitted },
      }
      const data = encodeSettlement(terms, 5n)
      expect(decodeSettlement(settlementTarget(terms), data)).toEqual({ kind, payer: address('b'), nonce })
      if (kind !== 'upto-permit2') expect(() => encodeSettlement(terms, 4n)).toThrow('exact moves 5, not 4')
    },
  )

  it.each(['0x', '0x12345678', `0x${'ff'.repeat(100)}`] as const)('returns null for %s', (data) => {
    for (const target of [UPTO_PROXY, EXACT_PROXY, address('a')]) expect(decodeSettlement(target, data)).toBeNull()
  })
})

describe('isNonceUsed', () => {
  it('reads the bit of the nonce in its bitmap word', () => {
    expect(isNonceUsed('0x1', { kind: 'upto-permit2', nonce: 256n })).toBe(true)
    expect(isNonceUsed('0x1', { kind: 'upto-permit2', nonce: 257n })).toBe(false)
    expect(isNonceUsed(`0x8${'0'.repeat(63)}`, { kind: 'upto-permit2', nonce: 255n })).toBe(true)
  })
})

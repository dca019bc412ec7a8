import { x402UptoPermit2ProxyABI } from '@x402/evm'
import { decodeFunctionData } from 'viem'
import { decodeSettlement, encodeSettlement, isNonceUsed } from './settlement-call.js'

const address = (digit: string) => `0x${digit.repeat(40)}` as const

describe('a settlement in calldata', () => {
  it.each([
    ['settle', null, null],
    ['settleWithPermit', 2n, `0x${'22'.repeat(64)}1b`],
  ] as const)('is found again by payer and nonce in %s', (functionName, permitDeadline, permitSignature) => {
    const nonce = 2n ** 256n - 1n
    const data = encodeSettlement(
      {
        kind: 'upto-permit2',
        asset: address('a'),
        maximum: 9n,
        nonce,
        deadline: 1n,
        payer: address('b'),
        payTo: address('c'),
        facilitator: address('d'),
        validAfter: 0n,
        signature: `0x${'11'.repeat(65)}`,
        permitDeadline,
        permitSignature,
      },
      5n,
    )
    expect(decodeSettlement(data)).toEqual({ payer: address('b'), nonce })
    expect(decodeFunctionData({ abi: x402UptoPermit2ProxyABI, data })).toMatchObject({ functionName })
  })

  it.each(['0x', '0x12345678', `0x${'ff'.repeat(100)}`] as const)('is not seen in %s', (data) => {
    expect(decodeSettlement(data)).toBeNull()
  })
})

describe('isNonceUsed', () => {
  it('reads the bit of the nonce in its word', () => {
    expect(isNonceUsed('0x1', { kind: 'upto-permit2', nonce: 256n })).toBe(true)
    expect(isNonceUsed('0x1', { kind: 'upto-permit2', nonce: 257n })).toBe(false)
    expect(isNonceUsed(`0x8${'0'.repeat(63)}`, { kind: 'upto-permit2', nonce: 255n })).toBe(true)
  })
})

import { marginOf } from './margin.js'

describe('marginOf', () => {
  it.each([
    ['2000', { shareOfGas: '20.0 %', left: '0.8', isLoss: false }],
    ['12000', { shareOfGas: '1.2 times', left: '0.2', isLoss: true }],
    ['0.5', { shareOfGas: '0.0 %', left: '0.99995', isLoss: false }],
  ])('compares 0.0001 ETH at %s USDC with 1 USDC earned', (price, margin) =>
    expect(marginOf(1_000_000n, 6, 100_000_000_000_000n, price)).toEqual(margin),
  )

  it.each(['', 'much', '-1', '1e3'])('returns no margin at the price %j', (price) =>
    expect(marginOf(1_000_000n, 6, 1n, price)).toBeUndefined(),
  )

  it('returns no margin without earnings', () => expect(marginOf(0n, 6, 1n, '2000')).toBeUndefined())
})

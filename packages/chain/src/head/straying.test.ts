import type { Hash } from '@upfront/protocol'
import { type SeenHead, straying } from './straying.js'

/** A block of the chain `fork`. */
const block = (number: number, fork = 'a'): SeenHead => ({
  number: BigInt(number),
  hash: `0x${fork}${number}` as Hash,
  parentHash: `0x${fork}${number - 1}` as Hash,
})
const none = [false, false, false, false]
const judge = (heads: (SeenHead | undefined)[], isStuck = none, slack = 1n) => straying(heads, isStuck, slack)

describe('straying', () => {
  it('nobody does while heads are one block apart, or alone', () => {
    expect(judge([block(8), block(9), block(8)])).toEqual([undefined, undefined, undefined])
    expect(judge([block(8), block(9)])).toEqual([undefined, undefined])
    expect(judge([block(8), undefined])).toEqual([undefined, undefined])
    expect(judge([undefined, undefined])).toEqual([undefined, undefined])
  })

  it('who is behind what two have reached lags; who is ahead of it alone is not believed', () => {
    expect(judge([block(5), block(8), block(9)])).toEqual(['lags', undefined, undefined])
    expect(judge([block(12), block(9), block(9)])).toEqual(['ahead', undefined, undefined])
    expect(judge([block(12), block(9), block(9)], none, 3n)).toEqual([undefined, undefined, undefined])
  })

  it('of two, the one ahead is not believed unless the other stands still', () => {
    expect(judge([block(5), block(9)])).toEqual([undefined, 'ahead'])
    expect(judge([block(5), block(9)], [true, false])).toEqual(['lags', undefined])
    expect(judge([block(9), block(5)], [false, true])).toEqual([undefined, 'lags'])
  })

  it('at one height most count, else the first; a block’s parent tells too', () => {
    expect(judge([block(9, 'b'), block(9), block(9)])).toEqual(['differs', undefined, undefined])
    expect(judge([block(9, 'b'), block(10), block(9)])).toEqual(['differs', undefined, undefined])
    expect(judge([block(9), block(9, 'b')])).toEqual([undefined, 'differs'])
    expect(judge([block(9), block(10, 'b')])).toEqual([undefined, 'differs'])
    expect(judge([block(5), block(9, 'b'), block(9), block(9)])).toEqual(['lags', 'differs', undefined, undefined])
  })
})

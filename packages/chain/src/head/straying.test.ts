import type { Hash } from '@upfront/protocol'
import { findStraying, type SeenHead } from './straying.js'

/** A block of the chain `fork`. */
const block = (number: number, fork = 'a'): SeenHead => ({
  number: BigInt(number),
  hash: `0x${fork}${number}` as Hash,
  parentHash: `0x${fork}${number - 1}` as Hash,
})
const none = [false, false, false, false]
const judge = (heads: (SeenHead | undefined)[], isStuck = none, slack = 1n) => findStraying(heads, isStuck, slack)

describe('straying', () => {
  it('accepts heads at most one block apart, and a head without another to compare', () => {
    expect(judge([block(8), block(9), block(8)])).toEqual([undefined, undefined, undefined])
    expect(judge([block(8), block(9)])).toEqual([undefined, undefined])
    expect(judge([block(8), undefined])).toEqual([undefined, undefined])
    expect(judge([undefined, undefined])).toEqual([undefined, undefined])
  })

  it('finds the node behind two others as lagging, and the one ahead of two others as ahead', () => {
    expect(judge([block(5), block(8), block(9)])).toEqual(['lags', undefined, undefined])
    expect(judge([block(12), block(9), block(9)])).toEqual(['ahead', undefined, undefined])
    expect(judge([block(12), block(9), block(9)], none, 3n)).toEqual([undefined, undefined, undefined])
  })

  it('finds the higher of two nodes as ahead, or the lower one as lagging if it stands still', () => {
    expect(judge([block(5), block(9)])).toEqual([undefined, 'ahead'])
    expect(judge([block(5), block(9)], [true, false])).toEqual(['lags', undefined])
    expect(judge([block(9), block(5)], [false, true])).toEqual([undefined, 'lags'])
  })

  it('takes the majority’s hash at the lowest common height, or the first node’s on a tie, also by parent hash', () => {
    expect(judge([block(9, 'b'), block(9), block(9)])).toEqual(['differs', undefined, undefined])
    expect(judge([block(9, 'b'), block(10), block(9)])).toEqual(['differs', undefined, undefined])
    expect(judge([block(9), block(9, 'b')])).toEqual([undefined, 'differs'])
    expect(judge([block(9), block(10, 'b')])).toEqual([undefined, 'differs'])
    expect(judge([block(5), block(9, 'b'), block(9), block(9)])).toEqual(['lags', 'differs', undefined, undefined])
  })
})

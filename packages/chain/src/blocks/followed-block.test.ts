import type { BlockHeader, Hash } from '@upfront/protocol'
import { KeptBlocks } from '../follow/kept-blocks.js'
import { type FollowedBlock, weightOf } from './followed-block.js'

const hashOf = (number: number): Hash => `0x${number.toString(16).padStart(64, '0')}`
const block = (number: number, transactions: unknown[], isWhole = true): FollowedBlock => ({
  header: { number: BigInt(number), hash: hashOf(number), parentHash: hashOf(number - 1) } as BlockHeader,
  ...{ transactions, withdrawals: [], rpc: { transactions }, isWhole },
})
const keys = (count: number) => [
  { address: '0xaa', storageKeys: Array.from({ length: count }, (_, key) => hashOf(key)) },
]

describe('weightOf a followed block', () => {
  it('is 1 plus the number of transactions, or plus a tenth of it if only hashes are kept', () => {
    expect(weightOf(block(1, Array(30).fill({ input: '0x' })))).toBe(31)
    expect(weightOf(block(1, Array(30).fill(hashOf(7)), false))).toBe(4)
  })

  it('includes long inputs and access lists', () => {
    expect(weightOf(block(1, [{ input: `0x${'00'.repeat(131_072)}` }]))).toBe(66)
    expect(weightOf(block(1, [{ input: '0x', accessList: keys(31) }]))).toBe(3)
  })

  it('accepts malformed transactions', () => {
    for (const odd of [null, 7, [], { input: 5 }, { accessList: {} }, { accessList: [null, { storageKeys: '0x' }] }])
      expect(weightOf(block(1, [odd]))).toBe(2)
  })

  it('bounds the memory of kept blocks full of data', () => {
    const kept = new KeptBlocks<FollowedBlock>(weightOf)
    const input = `0x${'00'.repeat(131_072)}`
    for (let number = 1; number <= 60; number += 1) kept.add(block(number, Array(70).fill({ input })))
    const held = Array.from({ length: 60 }, (_, index) => kept.get(hashOf(index + 1))).filter((each) => each)
    expect(held.length).toBeGreaterThan(1)
    expect(held.length * 70 * input.length).toBeLessThan(100_000_000)
  })
})

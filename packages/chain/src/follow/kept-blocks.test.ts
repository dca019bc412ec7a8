import type { BlockHeader, Hash } from '@upfront/protocol'
import { KeptBlocks } from './kept-blocks.js'

const hashOf = (number: number, fork = 0): Hash => `0x${(fork * 2 ** 40 + number).toString(16).padStart(64, '0')}`
const block = (number: number, fork = 0, parentFork = fork) => ({
  header: {
    number: BigInt(number),
    hash: hashOf(number, fork),
    parentHash: hashOf(number - 1, parentFork),
  } as BlockHeader,
})
const numbers = (kept: KeptBlocks<{ header: BlockHeader }>) => [...kept.newestFirst()].map(({ header }) => header.hash)

function following(count: number) {
  const kept = new KeptBlocks()
  for (let number = 1; number <= count; number += 1) {
    kept.add(block(number))
    kept.lead(block(number).header)
  }
  return kept
}

describe('KeptBlocks', () => {
  it('knows the blocks of the chain by number, the newest 64', () => {
    const kept = following(100)
    expect([36n, 37n, 100n, 101n].map((number) => kept.at(number)?.header.hash)).toEqual([
      ...[undefined, hashOf(37), hashOf(100), undefined],
    ])
    expect(numbers(kept)).toHaveLength(64)
  })

  it('goes over to another branch where that leads, and back', () => {
    const kept = following(10)
    for (const each of [block(9, 1, 0), block(10, 1), block(11, 1)]) kept.add(each)
    kept.lead(block(11, 1).header)
    expect([8n, 9n, 10n, 11n].map((number) => kept.at(number)?.header.hash)).toEqual([
      ...[hashOf(8), hashOf(9, 1), hashOf(10, 1), hashOf(11, 1)],
    ])
    kept.add(block(11))
    kept.lead(block(11).header)
    expect([9n, 10n, 11n].map((number) => kept.at(number)?.header.hash)).toEqual([hashOf(9), hashOf(10), hashOf(11)])
  })

  it('begins anew behind a gap, and goes on from before it once the missing block is there', () => {
    const kept = following(10)
    kept.add(block(12))
    kept.lead(block(12).header)
    expect([kept.at(10n), kept.at(12n)?.header.hash]).toEqual([undefined, hashOf(12)])
    for (const number of [11, 13]) kept.add(block(number))
    kept.lead(block(13).header)
    expect(numbers(kept)).toEqual(Array.from({ length: 13 }, (_, at) => hashOf(13 - at)))
  })

  it('drops what weighs too much', () => {
    const kept = new KeptBlocks<{ header: BlockHeader }>(() => 10_000)
    for (const number of [1, 2, 3]) {
      kept.add(block(number))
      kept.lead(block(number).header)
    }
    expect(numbers(kept)).toEqual([hashOf(3), hashOf(2)])
    expect(kept.at(1n)).toBeUndefined()
  })
})

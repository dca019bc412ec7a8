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

type Kept = KeptBlocks<{ header: BlockHeader }>
const hashes = (headers: readonly { hash: Hash }[]) => headers.map(({ hash }) => hash)

/** Makes the block the newest head, with the kept blocks before it. */
async function lead(kept: Kept, head: ReturnType<typeof block>, most = 8) {
  kept.add(head)
  const bridge = await kept.fetchBridge(head, most, async (hash) => kept.get(hash))
  const change = kept.advance(bridge ?? [head], bridge === undefined)
  return { ...change, removed: hashes(change.removed), added: hashes(change.added.map(({ header }) => header)) }
}

async function following(count: number) {
  const kept: Kept = new KeptBlocks()
  for (let number = 1; number <= count; number += 1) await lead(kept, block(number))
  return kept
}

describe('KeptBlocks', () => {
  it('finds the newest 64 blocks of the chain by number', async () => {
    const kept = await following(100)
    expect([36n, 37n, 100n, 101n].map((number) => kept.at(number)?.header.hash)).toEqual([
      ...[undefined, hashOf(37), hashOf(100), undefined],
    ])
    expect(numbers(kept)).toHaveLength(64)
  })

  it('switches to another branch and back, with the blocks removed and added', async () => {
    const kept = await following(10)
    for (const each of [block(9, 1, 0), block(10, 1)]) kept.add(each)
    expect(await lead(kept, block(11, 1))).toMatchObject({
      ...{ removed: [hashOf(10), hashOf(9)], added: [hashOf(9, 1), hashOf(10, 1), hashOf(11, 1)] },
      ...{ isGap: false, reorganised: true },
    })
    expect([8n, 9n, 10n, 11n].map((number) => kept.at(number)?.header.hash)).toEqual([
      ...[hashOf(8), hashOf(9, 1), hashOf(10, 1), hashOf(11, 1)],
    ])
    expect(await lead(kept, block(11))).toMatchObject({
      removed: [hashOf(11, 1), hashOf(10, 1), hashOf(9, 1)],
      added: [hashOf(9), hashOf(10), hashOf(11)],
    })
    expect([9n, 10n, 11n].map((number) => kept.at(number)?.header.hash)).toEqual([hashOf(9), hashOf(10), hashOf(11)])
  })

  it('iterates over the ancestors of a head that is not added yet, without blocks of another branch', async () => {
    const kept = await following(10)
    const ancestors = (head: ReturnType<typeof block>) =>
      [...kept.newestFirst(head.header)].map(({ header }) => header.number)
    expect(ancestors(block(10, 1, 0)).slice(0, 2)).toEqual([9n, 8n])
    expect(ancestors(block(9, 1, 0)).slice(0, 2)).toEqual([8n, 7n])
    expect(ancestors(block(11)).slice(0, 2)).toEqual([10n, 9n])
    expect(ancestors(block(11, 1))).toEqual([])
  })

  it('goes back to an older block of the chain, and forward again', async () => {
    const kept = await following(10)
    expect(await lead(kept, block(8))).toMatchObject({
      ...{ removed: [hashOf(10), hashOf(9)], added: [], isGap: false, reorganised: true },
    })
    expect(await lead(kept, block(10))).toMatchObject({
      ...{ removed: [], added: [hashOf(9), hashOf(10)], reorganised: false },
    })
  })

  it('bridges at most 8 missing blocks, and accepts a branch that starts before the oldest kept block', async () => {
    const kept = await following(10)
    for (let number = 11; number <= 20; number += 1) kept.add(block(number))
    expect(await lead(kept, block(19))).toMatchObject({ added: Array.from({ length: 9 }, (_, at) => hashOf(11 + at)) })
    for (let number = 20; number <= 29; number += 1) kept.add(block(number))
    expect(await lead(kept, block(29))).toMatchObject({ added: [hashOf(29)], isGap: true, reorganised: false })
    const short = await following(1)
    expect(await lead(short, block(1, 1))).toMatchObject({ removed: [hashOf(1)], added: [hashOf(1, 1)], isGap: false })
  })

  it('starts a new chain after a gap, and continues the old one once the missing block arrives', async () => {
    const kept = await following(10)
    expect(await lead(kept, block(12))).toMatchObject({ added: [hashOf(12)], isGap: true })
    expect([kept.at(10n), kept.at(12n)?.header.hash]).toEqual([undefined, hashOf(12)])
    kept.add(block(11))
    await lead(kept, block(13))
    expect(numbers(kept)).toEqual(Array.from({ length: 13 }, (_, at) => hashOf(13 - at)))
  })

  it('drops blocks beyond its memory limit, and bridges no more than fit', async () => {
    const kept = new KeptBlocks<{ header: BlockHeader }>(() => 10_000)
    for (const number of [1, 2, 3]) await lead(kept, block(number))
    expect(numbers(kept)).toEqual([hashOf(3), hashOf(2)])
    expect(kept.at(1n)).toBeUndefined()
    const byHash = async (hash: Hash) => [block(4), block(5)].find(({ header }) => header.hash === hash)
    expect(await kept.fetchBridge(block(5), 8, byHash)).toHaveLength(2)
    expect(await kept.fetchBridge(block(6), 8, byHash)).toBeUndefined()
  })
})

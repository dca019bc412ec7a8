import type { BlockHeader, Hash } from '@upfront/protocol'
import { BlockLog } from '../blocks/block-contents.js'
import type { FollowedBlock } from '../blocks/followed-block.js'
import { type ChainChange, KeptBlocks } from '../follow/kept-blocks.js'
import { AnnouncedBlocks, type AnnouncedChain } from './announced-blocks.js'

const hashOf = (number: number, fork = 0): Hash => `0x${(fork * 2 ** 40 + number).toString(16).padStart(64, '0')}`
const block = (number: number, fork = 0): FollowedBlock => {
  const [hash, parentHash] = [hashOf(number, fork), hashOf(number - 1)]
  const header = {
    number: BigInt(number),
    hash,
    parentHash,
    logsBloom: `0x${(number === 10 ? 'ff' : '00').repeat(256)}`,
  } as BlockHeader
  return { header, transactions: [], withdrawals: [], rpc: { number, hash }, isWhole: false }
}

/** A chain with heads chosen by the test, and what a listener receives. */
async function listening() {
  const kept = new KeptBlocks<FollowedBlock>()
  /** Calls to the node other than for heads. */
  let answer: () => void = () => undefined
  const waiting = new Promise<void>((resolve) => {
    answer = resolve
  })
  let tell: (change: ChainChange<FollowedBlock>) => void = () => undefined
  let tip = block(10)
  kept.advance([tip])
  /** The node's head, if it is ahead of the tip. */
  let ahead: FollowedBlock | undefined
  /** Whether blocks before it arrive, and how often that was checked. */
  let come = false
  let looks = 0
  const source: AnnouncedChain = {
    head: {
      kept: {
        get fetched() {
          looks += 1
          return come ? looks : 0
        },
      },
    },
    listen: (listener: typeof tell) => {
      tell = listener
      return () => undefined
    },
    get tip() {
      return tip
    },
    resolver: { head: async () => (ahead ?? tip).header, askHead: async () => (ahead ?? tip).header },
    sealed: (hash: Hash) => waiting.then(() => block(Number(BigInt(hash)))),
    logs: { of: () => waiting.then(() => []) },
  }
  const announced = new AnnouncedBlocks(source, () => undefined, 10)
  const told: string[] = []
  await announced.listen({
    added: ({ hash }) => void told.push(`+${Number(BigInt(hash) % 2n ** 40n)}`),
    removed: ({ hash }) => void told.push(`-${Number(BigInt(hash) % 2n ** 40n)}`),
  })
  const head = async (number: number, fork = 0) => {
    tip = block(number, fork)
    tell(kept.advance([tip]))
    // Announcements are spread over turns of the event loop.
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
    return told.splice(0)
  }
  const bridge = (number: number, blocksCome: boolean) => {
    ahead = block(number)
    come = blocksCome
    looks = 0
  }
  return { head, announced, answer, bridge, looks: () => looks }
}

describe('AnnouncedBlocks', () => {
  it('announces no head that is behind the tip, and announces a block once only', async () => {
    const { head } = await listening()
    expect(await head(11)).toEqual(['+11'])
    expect(await head(12)).toEqual(['+12'])
    expect(await head(10)).toEqual([])
    expect(await head(11)).toEqual([])
    expect(await head(12)).toEqual([])
    expect(await head(13)).toEqual(['+13'])
  })

  it('announces the abandoned blocks as removed once a block is built on an older head', async () => {
    const { head } = await listening()
    for (const number of [11, 12]) await head(number)
    expect(await head(10)).toEqual([])
    expect(await head(11, 1)).toEqual(['-12', '-11', '+11'])
  })

  it('makes a new listener wait while earlier blocks still arrive, and fails it with -32001 if they stop', async () => {
    const { head, announced, bridge, looks } = await listening()
    bridge(30, true)
    const coming = announced.listen({})
    // Checked once at first, and after each of two timeouts.
    while (looks() < 4) await new Promise(setImmediate)
    await head(30)
    ;(await coming)()
    bridge(40, false)
    await expect(announced.listen({})).rejects.toMatchObject({ code: -32001 })
    expect(looks()).toBe(2)
    bridge(40, true)
    await expect(announced.listen({})).rejects.toMatchObject({ code: -32001 })
    announced.close()
  })

  it('announces new heads while the node is still asked for the block from which a listener resumes', async () => {
    const { head, announced, answer } = await listening()
    const resumed: number[] = []
    const from = (number: number, wantsLogs: boolean) =>
      announced.listen(
        { wantsLogs, resumed: (changes) => void resumed.push(changes.length) },
        { kind: 'added', number: BigInt(number), hash: hashOf(number) },
      )
    const coming = [from(7, false), from(10, true)]
    for (const number of [11, 12]) expect(await head(number)).toEqual([`+${number}`])
    expect(resumed).toEqual([])
    answer()
    for (const listening of coming) (await listening)()
    // The known change and those after it.
    expect(resumed.sort()).toEqual([3, 6])
  })

  it('keeps large logs of the newest blocks only, and rejects a resume from an older block with -32005', async () => {
    const asked: Hash[] = []
    const data = `0x${'00'.repeat(4_000_000)}`
    let tip = block(10)
    let tell: (change: ChainChange<FollowedBlock>) => void = () => undefined
    const kept = new KeptBlocks<FollowedBlock>()
    kept.advance([tip])
    const announced = new AnnouncedBlocks(
      {
        head: { kept },
        listen: (listener) => {
          tell = listener
          return () => undefined
        },
        get tip() {
          return tip
        },
        resolver: { head: async () => tip.header, askHead: async () => tip.header },
        sealed: async () => undefined,
        logs: {
          of: async ({ hash }) => {
            asked.push(hash)
            return [new BlockLog({ data, blockHash: hash })]
          },
        },
      },
      () => undefined,
    )
    await announced.listen({ wantsLogs: true })
    for (let number = 11; number <= 15; number += 1) {
      const { header, ...rest } = block(number)
      tip = { ...rest, header: { ...header, logsBloom: `0x${'ff'.repeat(256)}` } }
      tell(kept.advance([tip]))
    }
    while (asked.length < 5) await new Promise(setImmediate)
    const resume = (number: number) =>
      announced.listen(
        { wantsLogs: true, resumed: () => undefined },
        { kind: 'added', number: BigInt(number), hash: hashOf(number) },
      )
    await resume(14)
    expect(asked).toHaveLength(5)
    await expect(resume(11)).rejects.toMatchObject({ code: -32005 })
    expect(asked.slice(5)).toContain(hashOf(11))
    announced.close()
  })
})

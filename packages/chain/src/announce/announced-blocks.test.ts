import type { BlockHeader, Hash } from '@upfront/protocol'
import type { FollowedBlock } from '../blocks/followed-block.js'
import type { Chain } from '../chain.js'
import { type ChainChange, KeptBlocks } from '../follow/kept-blocks.js'
import { AnnouncedBlocks } from './announced-blocks.js'

const hashOf = (number: number, fork = 0): Hash => `0x${(fork * 2 ** 40 + number).toString(16).padStart(64, '0')}`
const block = (number: number, fork = 0): FollowedBlock => {
  const [hash, parentHash] = [hashOf(number, fork), hashOf(number - 1)]
  const header = { number: BigInt(number), hash, parentHash, logsBloom: `0x${'00'.repeat(256)}` } as BlockHeader
  return { header, transactions: [], withdrawals: [], rpc: { number, hash }, isWhole: false }
}

/** A chain whose heads the test names, and what somebody who listens is told of them. */
async function listening() {
  const kept = new KeptBlocks<FollowedBlock>()
  let tell: (change: ChainChange<FollowedBlock>) => void = () => undefined
  let tip = block(1)
  kept.lead([tip])
  const source = {
    listen: (listener: typeof tell) => {
      tell = listener
      return () => undefined
    },
    get tip() {
      return tip
    },
    resolver: { head: async () => tip.header, askHead: async () => tip.header },
  }
  const announced = new AnnouncedBlocks(source as unknown as Chain, () => undefined)
  const told: string[] = []
  await announced.listen({
    added: ({ hash }) => void told.push(`+${Number(BigInt(hash) % 2n ** 40n)}`),
    removed: ({ hash }) => void told.push(`-${Number(BigInt(hash) % 2n ** 40n)}`),
  })
  const head = async (number: number, fork = 0) => {
    tip = block(number, fork)
    tell(kept.lead([tip]))
    // What is told takes turns of the event loop.
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
    return told.splice(0)
  }
  return { head }
}

describe('AnnouncedBlocks', () => {
  it('tells nothing of a head that only lags, nor of the newer one when it comes again', async () => {
    const { head } = await listening()
    expect(await head(2)).toEqual(['+2'])
    expect(await head(3)).toEqual(['+3'])
    expect(await head(1)).toEqual([])
    expect(await head(2)).toEqual([])
    expect(await head(3)).toEqual([])
    expect(await head(4)).toEqual(['+4'])
  })

  it('takes back what such a head left behind once another block follows it', async () => {
    const { head } = await listening()
    for (const number of [2, 3]) await head(number)
    expect(await head(1)).toEqual([])
    expect(await head(2, 1)).toEqual(['-3', '-2', '+2'])
  })
})

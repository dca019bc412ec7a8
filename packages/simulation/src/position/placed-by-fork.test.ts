import type { BlockHeader, Hex } from '@upfront/protocol'
import { keccak256 } from 'viem'
import { aHeader, optimismRules } from '../../test/fixtures.js'
import { carryRules } from '../carry/block-to-carry.js'
import type { StateRead } from '../engine/state.js'
import type { ChainRules } from '../plan/chain-rules.js'
import { BlockPositions } from './block-positions.js'
import { placedByFork } from './placed-by-fork.js'

const CODE = '0x6001600055'
const KNOWN = { address: `0x${'13'.repeat(20)}`, codeHash: keccak256(CODE) } as const
const rules: ChainRules = optimismRules({
  forks: [
    { fork: 'bedrock', block: 0n },
    { fork: 'regolith', timestamp: 0n },
    { fork: 'canyon', timestamp: 100n },
  ],
})
const header = (timestamp: bigint): BlockHeader => {
  const { parentBeaconBlockRoot, requestsHash, blobGasUsed, excessBlobGas, ...shanghai } = aHeader()
  return { ...shanghai, timestamp }
}
const first = header(100n)

/** A node with this code at the address, and the calls it received. */
function nodeWith(code: Hex) {
  const asked: StateRead[] = []
  const read = async (reads: StateRead[]) => {
    asked.push(...reads)
    return [code]
  }
  return { read, asked }
}

describe('placedByFork', () => {
  it("returns a layer with the known code, below the transactions of the fork's first block", async () => {
    const { read, asked } = nodeWith(CODE)
    const layer = await placedByFork(rules, first, read, KNOWN)
    expect(layer?.accounts.get(KNOWN.address)).toEqual({ code: CODE, storageCleared: false, storage: new Map() })
    expect(asked).toEqual([{ kind: 'code', address: KNOWN.address }])
    const block = { header: first, transactions: [], withdrawals: [] }
    const { prefix } = new BlockPositions().open(block, header(98n), rules, layer)
    const executed = {
      transactions: [],
      receipts: [],
      gasUsed: 0n,
      receiptsRoot: first.receiptsRoot,
      layers: [{ id: 'opening', accounts: new Map() }],
    }
    const stoodOn: string[] = []
    const state = await prefix.after(0, {
      driver: { run: async (begin) => begin() as never },
      executor: {
        encode: async () => [] as never,
        execute: (_: unknown, { layers }: { layers: readonly { id: string }[] }) => {
          stoodOn.push(...layers.map(({ id }) => id))
          return executed as never
        },
      } as never,
      budget: {} as never,
      cancellation: { signal: new AbortController().signal },
    })
    expect(stoodOn).toEqual([layer?.id])
    expect(state.layers.map(({ id }) => id)).toEqual([layer?.id, 'opening'])
  })

  it('returns undefined if the node has other code, and the block is refused', async () => {
    for (const code of ['0x', '0x6002'] as const) {
      const layer = await placedByFork(rules, first, nodeWith(code).read)
      expect(layer).toBeUndefined()
      expect(() =>
        new BlockPositions().open({ header: first, transactions: [], withdrawals: [] }, header(98n), rules, layer),
      ).toThrow('block 100 cannot be executed: a fork that changes state by itself begins with it')
    }
  })

  it('reads nothing for other blocks than the first one of the fork', async () => {
    const { read, asked } = nodeWith(CODE)
    for (const timestamp of [98n, 102n])
      expect(await placedByFork(rules, header(timestamp), read, KNOWN)).toBeUndefined()
    expect(asked).toEqual([])
    expect(carryRules(rules, header(102n), first)).toMatchObject({ opFork: 'canyon' })
  })
})

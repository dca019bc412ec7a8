import type { Hash } from '@upfront/protocol'
import type { StateLayer, StateRead } from '@upfront/simulation'
import { readThroughLayers } from './read-through-layers.js'

const ALICE = `0x${'aa'.repeat(20)}` as const
const slot = (n: number): Hash => `0x${n.toString(16).padStart(64, '0')}`
const layer = (id: string, change: object): StateLayer => ({
  id,
  accounts: new Map([[ALICE, { storageCleared: false, storage: new Map(), ...change }]]),
})

it('takes the newest layer that has a value, and asks the block for the rest in one read', async () => {
  const asked: (readonly StateRead[])[] = []
  const source = {
    key: slot(1),
    blockNumber: 1n,
    layers: [
      layer('old', { balance: 1n, nonce: 1n, storage: new Map([[slot(1), slot(11)]]) }),
      layer('cleared', { storageCleared: true, storage: new Map([[slot(2), slot(22)]]) }),
      layer('new', { balance: 2n }),
    ],
    read: async (reads: readonly StateRead[]) => {
      asked.push(reads)
      return reads.map(() => '0x60' as const)
    },
  }
  const storage = (n: number): StateRead => ({ kind: 'storage', address: ALICE, slot: slot(n) })
  const values = await readThroughLayers(
    source,
    [
      { kind: 'code', address: ALICE },
      { kind: 'balance', address: ALICE },
      storage(1),
      storage(2),
      { kind: 'nonce', address: ALICE },
      { kind: 'blockHash', number: 1n },
    ],
    AbortSignal.timeout(1_000),
  )
  expect(values).toEqual(['0x60', 2n, slot(0), slot(22), 1n, '0x60'])
  expect(asked).toEqual([
    [
      { kind: 'code', address: ALICE },
      { kind: 'blockHash', number: 1n },
    ],
  ])
})

import { type Address, type Hash, ZERO_HASH } from '@upfront/protocol'
import { readThroughLayers } from './read-through-layers.js'
import type { AccountChange, StateLayer, StateRead, StateSource } from './state-source.js'

const hash32 = (value: bigint): Hash => `0x${value.toString(16).padStart(64, '0')}`
const A: Address = `0x${'a1'.repeat(20)}`
const balance: StateRead = { kind: 'balance', address: A }
const slot = (number: bigint): StateRead => ({ kind: 'storage', address: A, slot: hash32(number) })
const layer = (id: string, change: AccountChange): StateLayer => ({ id, accounts: new Map([[A, change]]) })

function sourceOf(layers: StateLayer[]) {
  const asked: StateRead[] = []
  const state: StateSource = {
    key: ZERO_HASH,
    blockNumber: 1n,
    layers,
    read: async (reads) => {
      asked.push(...reads)
      return reads.map((read) => (read.kind === 'storage' ? hash32(99n) : 99n))
    },
  }
  const read = (...reads: StateRead[]) => readThroughLayers(state, reads, new AbortController().signal)
  return { read, asked }
}

describe('readThroughLayers', () => {
  const older = layer('1', {
    balance: 1n,
    storageCleared: true,
    storage: new Map([[hash32(1n), hash32(11n)]]),
  })
  const newer = layer('2', { balance: 2n, storageCleared: false, storage: new Map([[hash32(2n), hash32(22n)]]) })

  it('takes the newest layer that has it', async () => {
    const { read, asked } = sourceOf([older, newer])
    expect(await read(balance, slot(1n), slot(2n))).toEqual([2n, hash32(11n), hash32(22n)])
    expect(asked).toEqual([])
  })

  it('answers zero for slots that a layer cleared', async () => {
    expect(await sourceOf([older, newer]).read(slot(3n))).toEqual([ZERO_HASH])
  })

  it('asks the source once for the rest, in order', async () => {
    const { read, asked } = sourceOf([newer])
    expect(await read(slot(3n), balance, { kind: 'nonce', address: A })).toEqual([hash32(99n), 2n, 99n])
    expect(asked).toEqual([slot(3n), { kind: 'nonce', address: A }])
  })

  it('refuses an answer that is too short', async () => {
    const state: StateSource = { key: ZERO_HASH, blockNumber: 1n, layers: [], read: async () => [] }
    await expect(readThroughLayers(state, [balance], new AbortController().signal)).rejects.toThrow('0 of 1 reads')
  })
})

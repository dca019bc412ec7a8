import { type Address, type Hash, ZERO_HASH } from '@upfront/protocol'
import { layerValue } from './layer-value.js'
import type { AccountChange, StateLayer, StateRead } from './state.js'

const hash32 = (value: bigint): Hash => `0x${value.toString(16).padStart(64, '0')}`
const A: Address = `0x${'a1'.repeat(20)}`
const balance: StateRead = { kind: 'balance', address: A }
const slot = (number: bigint): StateRead => ({ kind: 'storage', address: A, slot: hash32(number) })
const layer = (id: string, change: AccountChange): StateLayer => ({ id, accounts: new Map([[A, change]]) })

describe('layerValue', () => {
  const older = layer('1', {
    balance: 1n,
    storageCleared: true,
    storage: new Map([[hash32(1n), hash32(11n)]]),
  })
  const newer = layer('2', { balance: 2n, storageCleared: false, storage: new Map([[hash32(2n), hash32(22n)]]) })

  it('returns the value of the newest layer that has it', () => {
    expect([balance, slot(1n), slot(2n)].map((read) => layerValue([older, newer], read))).toEqual([
      2n,
      hash32(11n),
      hash32(22n),
    ])
  })

  it('returns zero for slots that a layer cleared', () => {
    expect(layerValue([older, newer], slot(3n))).toBe(ZERO_HASH)
  })

  it('returns undefined if no layer determines the value', () => {
    expect(layerValue([newer], slot(3n))).toBeUndefined()
    expect(layerValue([newer], { kind: 'nonce', address: A })).toBeUndefined()
    expect(layerValue([older, newer], { kind: 'blockHash', number: 1n })).toBeUndefined()
  })
})

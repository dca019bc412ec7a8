import { createAddressFromString } from '@ethereumjs/util'
import { type Address, ZERO_HASH } from '@upfront/protocol'
import type { StateRead, StateValue } from '@upfront/simulation'
import { delegationTarget } from './account-record.js'
import { bytesOf, hash32, hexOf } from './bytes.js'
import { WorldState } from './world-state.js'

const A: Address = `0x${'a1'.repeat(20)}`
const B: Address = `0x${'b2'.repeat(20)}`
const SLOT = hash32(1n)

/** A state in which A has 10 wei, nonce 1, code 0x00 and 5 in every slot, and nobody else is anybody. */
function worldOf() {
  const asked: StateRead[][] = []
  const value = (read: StateRead): StateValue => {
    const isA = read.kind !== 'blockHash' && read.address === A
    if (read.kind === 'code') return isA ? '0x00' : '0x'
    if (read.kind === 'storage') return isA ? hash32(5n) : ZERO_HASH
    return isA ? (read.kind === 'balance' ? 10n : 1n) : 0n
  }
  const world = new WorldState(async (reads) => {
    asked.push(reads)
    return reads.map(value)
  })
  return { world, asked }
}

const slotOf = async (world: WorldState, address: Address) =>
  hexOf(await world.getStorage(createAddressFromString(address), bytesOf(SLOT)))

describe('WorldState', () => {
  it('reads an account once, all of it together', async () => {
    const { world, asked } = worldOf()
    expect(await world.account(A)).toMatchObject({ balance: 10n, nonce: 1n, exists: true })
    await world.account(A)
    expect(asked).toEqual([
      [
        { kind: 'balance', address: A },
        { kind: 'nonce', address: A },
        { kind: 'code', address: A },
      ],
    ])
  })

  it('reads only what overrides leave open, and nothing before it is needed', async () => {
    const { world, asked } = worldOf()
    world.override({ address: A, balance: 3n, code: '0x6001', state: [[hash32(9n), hash32(1n)]] })
    expect(asked).toEqual([])
    expect(await slotOf(world, A)).toBe('0x')
    expect(await world.account(A)).toMatchObject({ balance: 3n, nonce: 1n, exists: true })
    expect(asked.flat()).toEqual([{ kind: 'nonce', address: A }])
  })

  it('keeps other slots under stateDiff', async () => {
    const { world } = worldOf()
    world.override({ address: A, stateDiff: [[hash32(9n), hash32(1n)]] })
    expect(await slotOf(world, A)).toBe(hash32(5n))
  })

  it('asks for no slot of an account that is not there', async () => {
    const { world, asked } = worldOf()
    await world.account(B)
    expect(await slotOf(world, B)).toBe('0x')
    expect(asked.flat().some(({ kind }) => kind === 'storage')).toBe(false)
  })

  it('preloads in one batch', async () => {
    const { world, asked } = worldOf()
    await world.preload([A, B, A], [[A, SLOT]])
    await world.account(A)
    await world.account(B)
    await slotOf(world, A)
    expect(asked.map((reads) => reads.length)).toEqual([7])
  })

  it('undoes a frame and keeps what came before', async () => {
    const { world } = worldOf()
    const address = createAddressFromString(A)
    await world.update(A, { nonce: 2n })
    await world.checkpoint()
    await world.addBalance(A, 5n)
    await world.putStorage(address, bytesOf(SLOT), bytesOf('0x07'))
    await world.checkpoint()
    world.remove(A)
    await world.commit()
    await world.revert()
    expect(await world.account(A)).toMatchObject({ balance: 10n, nonce: 2n, exists: true })
    expect(await slotOf(world, A)).toBe(hash32(5n))
  })

  it('remembers a slot as it was when the transaction began (EIP-2200)', async () => {
    const { world } = worldOf()
    const address = createAddressFromString(A)
    const original = async () => hexOf(await world.originalStorageCache.get(address, bytesOf(SLOT)))
    await world.putStorage(address, bytesOf(SLOT), bytesOf('0x07'))
    expect(await original()).toBe(hash32(5n))
    world.finalise()
    expect(await original()).toBe('0x07')
  })

  it('drops touched empty accounts at the end of a transaction (EIP-161), overridden ones only once touched', async () => {
    const { world } = worldOf()
    world.override({ address: B, balance: 0n })
    world.finalise()
    expect((await world.account(B)).exists).toBe(true)
    await world.addBalance(B, 0n)
    world.finalise()
    expect((await world.account(B)).exists).toBe(false)
  })

  it('wraps balances as geth does', async () => {
    const { world } = worldOf()
    await world.addBalance(A, 2n ** 256n - 10n)
    expect((await world.account(A)).balance).toBe(0n)
  })
})

describe('delegationTarget', () => {
  it('wants a designator of 23 bytes (EIP-7702)', () => {
    expect(delegationTarget(bytesOf(`0xef0100${B.slice(2)}`))).toBe(B)
    for (const code of ['0x', '0xef0100', `0xef0101${B.slice(2)}`, `0xef0100${B.slice(2)}00`] as const) {
      expect(delegationTarget(bytesOf(code))).toBeUndefined()
    }
  })
})

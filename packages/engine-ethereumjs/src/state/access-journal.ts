import type { EVM } from '@ethereumjs/evm'
import type { Account, Address as AddressBytes } from '@ethereumjs/util'
import type { Address, Hash } from '@upfront/protocol'
import { hexOf } from './bytes.js'
import type { WorldState } from './world-state.js'

type EvmJournal = Pick<EVM['journal'], keyof EVM['journal']>

/**
 * EthereumJS' journal: which accounts and slots are warm (EIP-2929). It shares the undo list of `WorldState`, so that frames
 * need no allocation of their own.
 */
export class AccessJournal implements EvmJournal {
  #warmAccounts = new Set<Address>()
  #warmSlots = new Set<string>()
  readonly #world: WorldState

  constructor(world: WorldState) {
    this.#world = world
  }

  async putAccount(address: AddressBytes, account: Account | undefined): Promise<void> {
    this.#world.touch(hexOf(address.bytes))
    await this.#world.putAccount(address, account)
  }

  async deleteAccount(address: AddressBytes): Promise<void> {
    this.#world.remove(hexOf(address.bytes))
  }

  async checkpoint(): Promise<void> {
    await this.#world.checkpoint()
  }

  async commit(): Promise<void> {
    await this.#world.commit()
  }

  async revert(): Promise<void> {
    await this.#world.revert()
  }

  cleanJournal(): void {
    this.#warmAccounts = new Set()
    this.#warmSlots = new Set()
  }

  async cleanup(): Promise<void> {
    this.#world.finalise()
    this.cleanJournal()
  }

  /** For the whole transaction. */
  warm(address: Address): void {
    this.#warmAccounts.add(address)
  }

  /** For the whole transaction. */
  warmSlot(address: Address, slot: Hash): void {
    this.#warmSlots.add(address + slot)
  }

  addAlwaysWarmAddress(address: string): void {
    this.warm(prefixed(address))
  }

  addAlwaysWarmSlot(address: string, slot: string): void {
    this.warm(prefixed(address))
    this.warmSlot(prefixed(address), prefixed(slot))
  }

  isWarm(address: Address): boolean {
    return this.#warmAccounts.has(address)
  }

  isWarmSlot(address: Address, slot: Hash): boolean {
    return this.#warmSlots.has(address + slot)
  }

  isWarmedAddress(bytes: Uint8Array): boolean {
    return this.isWarm(hexOf(bytes))
  }

  addWarmedAddress(bytes: Uint8Array): void {
    const address = hexOf(bytes)
    if (this.#warmAccounts.has(address)) return
    this.#warmAccounts.add(address)
    this.#world.onRevert(() => this.#warmAccounts.delete(address))
  }

  isWarmedStorage(bytes: Uint8Array, slotBytes: Uint8Array): boolean {
    return this.isWarmSlot(hexOf(bytes), hexOf(slotBytes))
  }

  addWarmedStorage(bytes: Uint8Array, slotBytes: Uint8Array): void {
    const key = hexOf(bytes) + hexOf(slotBytes)
    if (this.#warmSlots.has(key)) return
    this.#warmSlots.add(key)
    this.#world.onRevert(() => this.#warmSlots.delete(key))
  }

  startReportingAccessList(): void {}

  startReportingPreimages(): void {}
}

function prefixed(hex: string): `0x${string}` {
  return `0x${hex.replace(/^0x/, '')}`
}

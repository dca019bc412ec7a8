import type { Address, StateOverride } from '@upfront/protocol'
import type { StateRead } from '../engine/state.js'

interface Replaced {
  balance: boolean
  nonce: boolean
  code: boolean
  wholeStorage: boolean
  slots: Set<string>
}

/** What the overrides of a plan's blocks so far replace: no need to read it. */
export class Overridden {
  readonly #accounts = new Map<Address, Replaced>()

  add(overrides: readonly StateOverride[]): void {
    for (const override of overrides) {
      const known = this.#accounts.get(override.address)
      const account = known ?? { balance: false, nonce: false, code: false, wholeStorage: false, slots: new Set() }
      account.balance ||= override.balance !== undefined
      account.nonce ||= override.nonce !== undefined
      account.code ||= override.code !== undefined
      account.wholeStorage ||= override.state !== undefined
      for (const [slot] of override.stateDiff ?? []) account.slots.add(slot)
      this.#accounts.set(override.address, account)
    }
  }

  has(read: StateRead): boolean {
    if (read.kind === 'blockHash') return false
    const account = this.#accounts.get(read.address)
    if (account === undefined) return false
    return read.kind === 'storage' ? account.wholeStorage || account.slots.has(read.slot) : account[read.kind]
  }
}

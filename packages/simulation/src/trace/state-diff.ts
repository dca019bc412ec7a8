import { type Address, type Hash, type Hex, toQuantity } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'

/** A value before and after. */
export interface Change<T> {
  from: T
  to: T
}

/** The changed fields of an account. */
export interface AccountDiff {
  balance?: Change<Hex>
  nonce?: Change<Hex>
  code?: Change<Hex>
  storage?: Record<Hash, Change<Hash>>
}

export type StateDiff = Record<Address, AccountDiff>

/**
 * What consecutive calls changed, fees included: each value before the first call and after the last. Unchanged values are left out; keys
 * are sorted. System calls and withdrawals are not included.
 */
export function stateDiff(records: readonly CallRecord[]): StateDiff {
  const diff: StateDiff = {}
  for (const { accounts } of records) {
    for (const { address, before, after, slots } of accounts) {
      diff[address] ??= {}
      const account = diff[address]
      note(account, 'balance', toQuantity(before.balance), toQuantity(after.balance))
      note(account, 'nonce', toQuantity(before.nonce), toQuantity(after.nonce))
      const code = before.code ?? '0x'
      note(account, 'code', code, after.code ?? code)
      for (const slot of slots) {
        if (slot.before === slot.after) continue
        account.storage ??= {}
        const from = account.storage[slot.slot]?.from ?? slot.before
        account.storage[slot.slot] = { from, to: slot.after }
      }
    }
  }
  return withoutUnchanged(diff)
}

function note(account: AccountDiff, field: 'balance' | 'nonce' | 'code', from: Hex, to: Hex): void {
  if (from !== to) account[field] = { from: account[field]?.from ?? from, to }
}

function withoutUnchanged(diff: StateDiff): StateDiff {
  const changed: StateDiff = {}
  for (const [address, account] of inOrder(diff)) {
    for (const field of ['balance', 'nonce', 'code'] as const) {
      if (account[field] !== undefined && account[field].from === account[field].to) delete account[field]
    }
    const slots = inOrder(account.storage ?? {}).filter(([, { from, to }]) => from !== to)
    if (slots.length > 0) account.storage = Object.fromEntries(slots)
    else delete account.storage
    if (Object.keys(account).length > 0) changed[address] = account
  }
  return changed
}

function inOrder<K extends Hex, V>(values: Record<K, V>): [K, V][] {
  return (Object.entries(values) as [K, V][]).sort(([one], [other]) => (one < other ? -1 : 1))
}

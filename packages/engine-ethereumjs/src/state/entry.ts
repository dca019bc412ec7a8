import { type Hash, ZERO_HASH } from '@upfront/protocol'
import type { AccountChange, StateValue } from '@upfront/simulation'
import type { AccountRecord } from './account-record.js'
import { bytesOf, EMPTY_BYTES, hexOf } from './bytes.js'

export const ZERO_SLOT = EMPTY_BYTES

/** What a simulation knows of an account and has done to it. */
export interface Entry {
  /** Absent until read. */
  record?: AccountRecord
  /** As it was read. */
  initial?: AccountRecord
  /** Slots that were written, reverted writes included. */
  written: Set<Hash>
  /** It self-destructed, or was empty at a transaction's end. */
  removed: boolean
  /** Overridden before anything was read: these fields need no read. */
  overridden?: { balance?: bigint; nonce?: bigint; code?: Uint8Array }
  storage: Map<Hash, Uint8Array>
  /** Slots that `storage` lacks are zero and need no read. */
  storageKnown: boolean
}

/** What of it differs from what was read; undefined where nothing does. */
export function changeOf({ record, initial, written, removed, storage }: Entry): AccountChange | undefined {
  if (!record || !initial) return undefined
  const storageCleared = removed && initial.exists
  const change: AccountChange = {
    storageCleared,
    storage: new Map([...written].map((slot) => [slot, slotHash(storage.get(slot) ?? ZERO_SLOT)])),
    ...(record.balance !== initial.balance && { balance: record.balance }),
    ...(record.nonce !== initial.nonce && { nonce: record.nonce }),
    ...(record.code !== initial.code && { code: hexOf(record.code) }),
  }
  const nothing = Object.keys(change).length === 2 && written.size === 0 && !storageCleared
  return nothing ? undefined : change
}

/** A slot's value as 32 bytes. */
export function slotHash(bytes: Uint8Array): Hash {
  return `0x${hexOf(bytes).slice(2).padStart(64, '0')}`
}

/** A slot's value as the EVM has it. */
export function slotBytes(value: StateValue | undefined): Uint8Array {
  return typeof value === 'string' && value !== ZERO_HASH ? bytesOf(value) : ZERO_SLOT
}

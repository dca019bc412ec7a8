import type { AccessListEntry, Address } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'

/** The call's access list (EIP-2930) as in `eth_createAccessList`, sorted. */
export function accessListOf({ accounts }: CallRecord): AccessListEntry[] {
  return accounts
    .map(({ address, isAccessed, slots }) => ({
      address,
      isAccessed,
      storageKeys: slots.flatMap((slot) => (slot.isAccessed ? [slot.slot] : [])).sort(),
    }))
    .filter(({ isAccessed, storageKeys }) => isAccessed || storageKeys.length > 0)
    .map(({ address, storageKeys }) => ({ address, storageKeys }))
    .sort(byAddress)
}

export function byAddress(a: { address: Address }, b: { address: Address }): number {
  return a.address < b.address ? -1 : 1
}

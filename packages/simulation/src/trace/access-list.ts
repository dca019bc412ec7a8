import type { AccessListEntry, Address } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'

/** What the call accessed (EIP-2930), as `eth_createAccessList` names it: in ascending order. */
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

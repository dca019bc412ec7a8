import { decodeAddress, decodeBytes32 } from '../decode/bytes.js'
import { mismatch, Place } from '../decode/decode-error.js'
import { decodeArray, decodeObject, rejectMistyped } from '../decode/structure.js'
import { type Later, mapInParts } from '../parts.js'
import type { AccessListEntry } from './simulation-request.js'

const FIELDS = ['address', 'storageKeys'] as const
const ALIASES = { slots: 'storageKeys', storage: 'storageKeys', keys: 'storageKeys' }

/** Decodes an EIP-2930 access list. Both fields of an entry are required, as in geth. */
export function decodeAccessList(value: unknown, parent: Place, key: string, later?: Later): AccessListEntry[] {
  const list = new Place(parent, key)
  const entries = decodeArray(value, 'an array of access-list entries', parent, key)
  const decodeEntry = (entry: unknown, index: number): AccessListEntry => {
    const place = new Place(list, index)
    const fields = decodeObject(entry, 'an object with `address` and `storageKeys`', place)
    rejectMistyped(fields, FIELDS, ALIASES, place)
    const keys = fields.storageKeys
    if (!Array.isArray(keys)) throw mismatch(new Place(place, 'storageKeys'), 'an array of storage keys', keys)
    const slots = new Place(place, 'storageKeys')
    return {
      address: decodeAddress(fields.address, place, 'address'),
      storageKeys: mapInParts(keys, (slot, i) => decodeBytes32(slot, slots, i), later),
    }
  }
  return mapInParts(entries, decodeEntry, later)
}

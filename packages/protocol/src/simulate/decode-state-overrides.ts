import { decodeAddress, decodeBytes, decodeBytes32 } from '../decode/bytes.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { decodeObject, unknownField } from '../decode/structure.js'
import type { Address, Hash, Hex } from '../hex.js'
import { byteKeyed } from '../json-rpc/byte-keyed.js'
import type { StateOverride } from './simulation-request.js'

const FIELDS = ['balance', 'nonce', 'code', 'state', 'stateDiff', 'storage', 'movePrecompileToAddress'] as const
const ALIASES = { slots: 'stateDiff', movePrecompileTo: 'movePrecompileToAddress' }

/** An object keyed by address. An address that stands there twice, in different case, is an error: one of the two would be lost. */
export function decodeStateOverrides(value: unknown, place: Place): StateOverride[] {
  const accounts = decodeEntries(value, 'an object keyed by address', place)
  const { keys, originals } = lowerCaseKeys(accounts, place, decodeAddress, 'the same address is overridden twice')
  return keys.sort().map((address) => {
    const key = originals.get(address) ?? address
    const fields = accounts.get(key)
    return fields === null ? { address } : decodeAccount(address, fields, new Place(place, key))
  })
}

function decodeEntries(value: unknown, expected: string, place: Place): ReadonlyMap<string, unknown> {
  const entries = byteKeyed(value)
  if (entries === undefined) throw mismatch(place, expected, value)
  return entries
}

/** The keys of a map keyed by bytes, in lower case, and how those that were not were written. */
function lowerCaseKeys(
  map: ReadonlyMap<string, unknown>,
  place: Place,
  decode: (key: unknown, parent: Place, name: string) => Hex,
  twice: string,
): { keys: Hex[]; originals: Map<Hex, string> } {
  const originals = new Map<Hex, string>()
  const keys: Hex[] = []
  for (const key of map.keys()) {
    const bytes = decode(key, place, key)
    keys.push(bytes)
    if (bytes === key) continue
    if (originals.has(bytes) || map.has(bytes)) throw new DecodeError(new Place(place, key), twice)
    originals.set(bytes, key)
  }
  return { keys, originals }
}

function decodeAccount(address: Address, value: unknown, place: Place): StateOverride {
  const fields = decodeObject(value, 'an account override', place)
  const override: StateOverride = { address }
  let storage: StateOverride['stateDiff']
  for (const key of Object.keys(fields)) {
    const field = fields[key]
    if (field === null && FIELDS.includes(key as (typeof FIELDS)[number])) continue
    switch (key) {
      case 'balance':
        override.balance = decodeQuantity(field, 256, place, key)
        break
      case 'nonce':
        override.nonce = decodeQuantity(field, 64, place, key)
        break
      case 'code':
        override.code = decodeBytes(field, place, key)
        break
      case 'state':
      case 'stateDiff':
        override[key] = decodeSlots(field, new Place(place, key))
        break
      case 'storage':
        storage = decodeSlots(field, new Place(place, key))
        break
      case 'movePrecompileToAddress':
        override.movePrecompileToAddress = decodeAddress(field, place, key)
        break
      default:
        throw unknownField(key, FIELDS, ALIASES, place)
    }
  }
  if (storage !== undefined) {
    if (override.state !== undefined || override.stateDiff !== undefined) {
      throw new DecodeError(place, '`storage` means `stateDiff` and can not stand beside `state` or `stateDiff`')
    }
    override.stateDiff = storage
  }
  return override
}

function decodeSlots(value: unknown, place: Place): [slot: Hash, value: Hash][] {
  const entries = decodeEntries(value, 'an object of storage slots', place)
  const { keys, originals } = lowerCaseKeys(entries, place, decodeBytes32, 'the same slot is overridden twice')
  return keys.map((slot) => {
    const key = originals.get(slot) ?? slot
    return [slot, decodeBytes32(entries.get(key), place, key)]
  })
}

import { decodeAddress, decodeBytes32, decodeBytesLater } from '../decode/bytes.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { decodeObject, unknownField } from '../decode/structure.js'
import type { Address, Hash, Hex } from '../hex.js'
import { byteKeyed, longByteKeyed } from '../json-rpc/byte-keyed.js'
import { type Later, PART_ENTRIES, type Parts } from '../parts.js'
import type { StateOverride } from './simulation-request.js'

const FIELDS = ['balance', 'nonce', 'code', 'state', 'stateDiff', 'storage', 'movePrecompileToAddress'] as const
const ALIASES = { slots: 'stateDiff', movePrecompileTo: 'movePrecompileToAddress' }

const ADDRESS_TWICE = 'the same address is overridden twice'
const SLOT_TWICE = 'the same slot is overridden twice'
/** No chain has this many. */
const MAX_PRECOMPILES = 1_000

/** Decodes an object keyed by address. One address twice, in different case, is an error, because one of them would be lost. */
export function decodeStateOverrides(value: unknown, place: Place, later?: Later): StateOverride[] {
  const long = later && longByteKeyed(value)
  if (long !== undefined) {
    const overrides: StateOverride[] = []
    later!.push(decodeLongOverrides(overrides, long, place, later!))
    return overrides
  }
  const accounts = decodeEntries(value, 'an object keyed by address', place)
  const { keys, originals } = lowerCaseKeys(accounts, place, decodeAddress, ADDRESS_TWICE)
  return keys.sort().map((address) => {
    const key = originals.get(address) ?? address
    return decodeAccount(address, accounts.get(key), new Place(place, key), later)
  })
}

/** In the order of the request, except for those that move precompiles: only for these does order matter. */
function* decodeLongOverrides(
  overrides: StateOverride[],
  entries: readonly unknown[],
  place: Place,
  later: Later,
): Parts {
  const decoded = yield* decodeLongMap(entries, place, decodeAddress, ADDRESS_TWICE, (address, fields, key) =>
    decodeAccount(address, fields, new Place(place, key), later),
  )
  const moving: StateOverride[] = []
  let taken = 0
  for (const override of decoded.values()) {
    if (++taken % PART_ENTRIES === 0) yield
    if (override.movePrecompileToAddress === undefined) overrides.push(override)
    else if (moving.push(override) > MAX_PRECOMPILES)
      throw new DecodeError(
        place,
        `more than ${MAX_PRECOMPILES}accounts move a precompile: the chain has fewer precompiles`,
      )
  }
  overrides.unshift(...moving.sort((a, b) => (a.address < b.address ? -1 : 1)))
}

function* decodeLongSlots(slots: [Hash, Hash][], entries: readonly unknown[], place: Place): Parts {
  const decoded = yield* decodeLongMap(entries, place, decodeBytes32, SLOT_TWICE, (_, value, key) =>
    decodeBytes32(value, place, key),
  )
  for (const slot of decoded) if (slots.push(slot) % PART_ENTRIES === 0) yield
}

/** @param entries keys and values alternating, from index 1 on */
function* decodeLongMap<K extends Hex, V>(
  entries: readonly unknown[],
  place: Place,
  decodeKey: (key: unknown, parent: Place, name: string) => K,
  twice: string,
  decodeValue: (key: K, value: unknown, written: string) => V,
): Parts<Map<K, V>> {
  const decoded = new Map<K, V>()
  /** Original spelling of keys not in lower case. */
  const originals = new Map<K, string>()
  for (let at = 1; at < entries.length; at += 2) {
    if (at % (2 * PART_ENTRIES) === 1 && at > 1) yield
    const written = entries[at] as string
    const key = decodeKey(written, place, written)
    if (decoded.has(key) && (originals.get(key) ?? key) !== written)
      throw new DecodeError(new Place(place, written), twice)
    if (written !== key) originals.set(key, written)
    decoded.set(key, decodeValue(key, entries[at + 1], written))
  }
  return decoded
}

function decodeEntries(value: unknown, expected: string, place: Place): ReadonlyMap<string, unknown> {
  const entries = byteKeyed(value)
  if (entries === undefined) throw mismatch(place, expected, value)
  return entries
}

/** The keys of a map keyed by bytes in lower case, and the original spelling of those that were not. */
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

function decodeAccount(address: Address, value: unknown, place: Place, later: Later | undefined): StateOverride {
  if (value === null) return { address }
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
        decodeBytesLater(field, place, key, later, (bytes) => {
          override.code = bytes
        })
        break
      case 'state':
      case 'stateDiff':
        override[key] = decodeSlots(field, new Place(place, key), later)
        break
      case 'storage':
        storage = decodeSlots(field, new Place(place, key), later)
        break
      case 'movePrecompileToAddress':
        override.movePrecompileToAddress = decodeAddress(field, place, key)
        break
      default:
        throw unknownField(key, FIELDS, ALIASES, place)
    }
  }
  if (storage !== undefined) {
    if (override.state !== undefined || override.stateDiff !== undefined)
      throw new DecodeError(place, '`storage` means `stateDiff` and cannot be combined with `state` or `stateDiff`')
    override.stateDiff = storage
  }
  return override
}

function decodeSlots(value: unknown, place: Place, later: Later | undefined): [slot: Hash, value: Hash][] {
  const long = later && longByteKeyed(value)
  if (long !== undefined) {
    const slots: [Hash, Hash][] = []
    later!.push(decodeLongSlots(slots, long, place))
    return slots
  }
  const entries = decodeEntries(value, 'an object of storage slots', place)
  const { keys, originals } = lowerCaseKeys(entries, place, decodeBytes32, SLOT_TWICE)
  return keys.map((slot) => {
    const key = originals.get(slot) ?? slot
    return [slot, decodeBytes32(entries.get(key), place, key)]
  })
}

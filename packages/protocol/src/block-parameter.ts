import { decodeBytes32 } from './decode/bytes.js'
import { DecodeError, mismatch, Place } from './decode/decode-error.js'
import { decodeQuantity } from './decode/quantity.js'
import { decodeBoolean, decodeObject, ignoreUnlessMistyped } from './decode/structure.js'
import type { Hash } from './hex.js'

export const BLOCK_TAGS = ['latest', 'pending', 'safe', 'finalized', 'earliest'] as const
export type BlockTag = (typeof BLOCK_TAGS)[number]

/** Which block a request stands on: a tag, a number, or a hash (EIP-1898). */
export type BlockParameter =
  | { kind: 'tag'; tag: BlockTag }
  | { kind: 'number'; number: bigint }
  | { kind: 'hash'; hash: Hash; requireCanonical: boolean }

const OBJECT_FIELDS = ['blockNumber', 'blockHash', 'requireCanonical'] as const
const OBJECT_ALIASES = { number: 'blockNumber', hash: 'blockHash' }
const HIGHEST_NUMBER = (1n << 63n) - 1n

/**
 * A tag, a number, a block hash, or an EIP-1898 object.
 * @throws DecodeError with `place`
 */
export function decodeBlockParameter(value: unknown, place: Place): BlockParameter {
  if (typeof value === 'object' && value !== null) return decodeObjectForm(value, place)
  if (typeof value !== 'string') throw mismatch(place, 'a block tag, number, hash or EIP-1898 object', value)
  if (isTag(value)) return { kind: 'tag', tag: value }
  if (value.length === 66)
    return { kind: 'hash', hash: decodeBytes32(value, place.parent, place.key), requireCanonical: false }
  if (!value.startsWith('0x')) {
    throw mismatch(place, `a block number in hex, a hash, or one of ${BLOCK_TAGS.join(', ')}`, value)
  }
  return { kind: 'number', number: decodeNumber(value, place.parent, place.key) }
}

function decodeObjectForm(value: object, place: Place): BlockParameter {
  const fields = decodeObject(value, 'an EIP-1898 object', place)
  for (const key of Object.keys(fields)) {
    if (!OBJECT_FIELDS.includes(key as (typeof OBJECT_FIELDS)[number])) {
      ignoreUnlessMistyped(key, OBJECT_FIELDS, OBJECT_ALIASES, place)
    }
  }
  const { blockNumber, blockHash, requireCanonical } = fields
  const canonical = (requireCanonical ?? false) !== false && decodeBoolean(requireCanonical, place, 'requireCanonical')
  const numbered = (blockNumber ?? undefined) !== undefined
  const hashed = (blockHash ?? undefined) !== undefined
  if (numbered === hashed) throw new DecodeError(place, 'expected exactly one of `blockNumber` and `blockHash`')
  if (hashed) return { kind: 'hash', hash: decodeBytes32(blockHash, place, 'blockHash'), requireCanonical: canonical }
  if (typeof blockNumber === 'string' && isTag(blockNumber)) return { kind: 'tag', tag: blockNumber }
  return { kind: 'number', number: decodeNumber(blockNumber, place, 'blockNumber') }
}

function decodeNumber(value: unknown, parent: Place | undefined, key: string | number): bigint {
  const number = decodeQuantity(value, 64, parent, key)
  if (number > HIGHEST_NUMBER) throw mismatch(new Place(parent, key), 'a block number below 2^63', value)
  return number
}

function isTag(value: string): value is BlockTag {
  return (BLOCK_TAGS as readonly string[]).includes(value)
}

import { decodeBytes32 } from './decode/bytes.js'
import { DecodeError, mismatch, Place } from './decode/decode-error.js'
import { decodeQuantity } from './decode/quantity.js'
import { decodeBoolean, decodeObject, rejectMistyped } from './decode/structure.js'
import type { Hash } from './hex.js'

export const BLOCK_TAGS = ['latest', 'pending', 'safe', 'finalized', 'earliest'] as const
export type BlockTag = (typeof BLOCK_TAGS)[number]

/** The block that a request refers to: a tag, a number, or a hash (EIP-1898). */
export type BlockParameter =
  | { kind: 'tag'; tag: BlockTag }
  | { kind: 'number'; number: bigint }
  | { kind: 'hash'; hash: Hash; requireCanonical: boolean }

/** A position inside a block: the state after its first `transactionIndex` transactions. */
export interface BlockPosition {
  kind: 'position'
  block: BlockParameter
  /** Number of transactions before it. */
  transactionIndex: number
  /** Where the request states it, for errors. */
  place: string
  /** It is the position of a transaction, which must exist in the block. */
  isOfTransaction?: boolean
}

/** The state that a request uses: after a block, or at a position inside one. */
export type StateParameter = BlockParameter | BlockPosition

const OBJECT_FIELDS = ['blockNumber', 'blockHash', 'requireCanonical', 'transactionIndex'] as const
const OBJECT_ALIASES = { number: 'blockNumber', hash: 'blockHash' }
const MAX_NUMBER = (1n << 63n) - 1n

/**
 * Like {@link decodeBlockParameter}, but also accepts an EIP-1898 object with `transactionIndex`, an integer or a quantity.
 * @throws DecodeError with `place`
 */
export function decodeStateParameter(value: unknown, place: Place): StateParameter {
  const index =
    typeof value === 'object' ? (value as { transactionIndex?: unknown } | null)?.transactionIndex : undefined
  if (index === undefined || index === null) return decodeBlockParameter(value, place)
  const block = decodeBlockParameter({ ...(value as object), transactionIndex: null }, place)
  const at = new Place(place, 'transactionIndex')
  return { kind: 'position', block, transactionIndex: decodeIndex(index, at), place: at.toString() }
}

/** The number of transactions before a position: an integer or a quantity. @throws DecodeError with `place` */
export function decodeIndex(value: unknown, place: Place): number {
  if (typeof value === 'number' ? !(Number.isSafeInteger(value) && value >= 0) : typeof value !== 'string')
    throw mismatch(place, 'a number of transactions', value)
  return typeof value === 'number' ? value : Number(decodeQuantity(value, 64, place.parent, place.key))
}

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
  if (!/^0x/i.test(value))
    throw mismatch(place, `a block number in hex, a hash, or one of ${BLOCK_TAGS.join(', ')}`, value)
  return { kind: 'number', number: decodeNumber(value, place.parent, place.key) }
}

/** A number or a tag, for parameters that don't accept a hash. @throws DecodeError with `place` */
export function decodeBlockNumber(value: unknown, place: Place): BlockParameter {
  const block = typeof value === 'string' ? decodeBlockParameter(value, place) : undefined
  if (block === undefined || block.kind === 'hash') throw mismatch(place, 'a block number or tag', value)
  return block
}

function decodeObjectForm(value: object, place: Place): BlockParameter {
  const fields = decodeObject(value, 'an EIP-1898 object', place)
  rejectMistyped(fields, OBJECT_FIELDS, OBJECT_ALIASES, place)
  const { blockNumber, blockHash, requireCanonical, transactionIndex } = fields
  if (transactionIndex !== undefined && transactionIndex !== null)
    throw new DecodeError(new Place(place, 'transactionIndex'), 'expected a whole block, not a position in it')
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
  if (number > MAX_NUMBER) throw mismatch(new Place(parent, key), 'a block number below 2^63', value)
  return number
}

function isTag(value: string): value is BlockTag {
  return (BLOCK_TAGS as readonly string[]).includes(value)
}

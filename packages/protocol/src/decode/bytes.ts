import type { Address, Hash, Hex } from '../hex.js'
import { mismatch, Place } from './decode-error.js'

const ADDRESS = /^0x[0-9a-f]{40}$/i
const HASH = /^0x[0-9a-f]{64}$/i
const NOT_HEX = /[^0-9a-f]/gi

/** 20 bytes of hex in any case; checksums are not looked at, as in geth. */
export function decodeAddress(value: unknown, parent: Place | undefined, key: string | number): Address {
  if (typeof value !== 'string' || value.length !== 42 || !ADDRESS.test(value)) {
    throw mismatch(new Place(parent, key), 'an address of 20 bytes in hex', value)
  }
  return value.toLowerCase() as Address
}

/** Exactly 32 bytes of hex: storage keys and values are not padded, as in geth. */
export function decodeBytes32(value: unknown, parent: Place | undefined, key: string | number): Hash {
  if (typeof value !== 'string' || value.length !== 66 || !HASH.test(value)) {
    throw mismatch(new Place(parent, key), '32 bytes in hex', value)
  }
  return value.toLowerCase() as Hash
}

/** Bytes in hex, whole bytes only; the empty string is empty, as in geth and reth. */
export function decodeBytes(value: unknown, parent: Place | undefined, key: string | number): Hex {
  if (value === '0x' || value === '') return '0x'
  if (typeof value !== 'string') throw mismatch(new Place(parent, key), 'bytes in hex', value)
  const prefixed = value.charCodeAt(0) === 0x30 && (value.charCodeAt(1) | 0x20) === 0x78
  NOT_HEX.lastIndex = 2
  if (!prefixed || NOT_HEX.test(value)) throw mismatch(new Place(parent, key), 'bytes in hex', value)
  if (value.length % 2 !== 0)
    throw mismatch(new Place(parent, key), 'whole bytes in hex (an even number of digits)', value)
  return value.toLowerCase() as Hex
}

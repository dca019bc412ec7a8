import type { Address, Hash, Hex } from '../hex.js'
import type { Later, Parts } from '../parts.js'
import { mismatch, Place } from './decode-error.js'

const ADDRESS = /^0x[0-9a-f]{40}$/i
const HASH = /^0x[0-9a-f]{64}$/i
const NOT_HEX = /[^0-9a-f]/gi
const LOWER_HEX = /^[0-9a-f]*$/
/** Digits checked in one part of long bytes. */
const PART_LENGTH = 262_144
/** Characters from which bytes get parts of their own: an object may have many of them. */
const LONG_BYTES = 16_384

/** 20 bytes of hex in any case. Checksums are not verified, as in geth. */
export function decodeAddress(value: unknown, parent: Place | undefined, key: string | number): Address {
  if (typeof value !== 'string' || value.length !== 42 || !ADDRESS.test(value))
    throw mismatch(new Place(parent, key), 'an address of 20 bytes in hex', value)
  return value.toLowerCase() as Address
}

/** Exactly 32 bytes of hex. Storage keys and values are not padded, as in geth. */
export function decodeBytes32(value: unknown, parent: Place | undefined, key: string | number): Hash {
  if (typeof value !== 'string' || value.length !== 66 || !HASH.test(value))
    throw mismatch(new Place(parent, key), '32 bytes in hex', value)
  return value.toLowerCase() as Hash
}

/** Hex of whole bytes. The empty string counts as empty, as in geth and reth. */
export function decodeBytes(value: unknown, parent: Place | undefined, key: string | number): Hex {
  if (value === '0x' || value === '') return '0x'
  if (typeof value !== 'string' || !isPrefixed(value)) throw notBytes(value, parent, key)
  NOT_HEX.lastIndex = 2
  if (NOT_HEX.test(value)) throw notBytes(value, parent, key)
  if (value.length % 2 !== 0) throw halfByte(value, parent, key)
  return value.toLowerCase() as Hex
}

/** Like {@link decodeBytes}, but calls `set` with the result. Long bytes are decoded in parts, which are added to `later` if given. */
export function decodeBytesLater(
  value: unknown,
  parent: Place | undefined,
  key: string | number,
  later: Later | undefined,
  set: (bytes: Hex) => void,
): void {
  if (later === undefined || typeof value !== 'string' || value.length <= LONG_BYTES) {
    set(decodeBytes(value, parent, key))
  } else {
    later.push(decodeBytesInParts(value, parent, key, set))
  }
}

function* decodeBytesInParts(
  value: string,
  parent: Place | undefined,
  key: string | number,
  set: (bytes: Hex) => void,
): Parts {
  if (!isPrefixed(value)) throw notBytes(value, parent, key)
  if (value.length % 2 !== 0) throw halfByte(value, parent, key)
  let lower: Buffer | undefined
  for (let from = 0; from < value.length; from += PART_LENGTH) {
    const part = value.slice(from, from + PART_LENGTH)
    const digits = from === 0 ? part.slice(2) : part
    const isLower = LOWER_HEX.test(digits) && (from > 0 || part.startsWith('0x'))
    NOT_HEX.lastIndex = 0
    if (!isLower && NOT_HEX.test(digits)) throw notBytes(value, parent, key)
    if (!isLower && lower === undefined) {
      lower = Buffer.allocUnsafeSlow(value.length)
      for (let at = 0; at < from; at += PART_LENGTH) {
        lower.write(value.slice(at, at + PART_LENGTH), at, 'latin1')
        yield
      }
    }
    lower?.write(part.toLowerCase(), from, 'latin1')
    yield
  }
  set((lower?.toString('latin1') ?? value) as Hex)
}

function isPrefixed(value: string): boolean {
  return value.charCodeAt(0) === 0x30 && (value.charCodeAt(1) | 0x20) === 0x78
}

function notBytes(value: unknown, parent: Place | undefined, key: string | number): Error {
  return mismatch(new Place(parent, key), 'bytes in hex', value)
}

function halfByte(value: string, parent: Place | undefined, key: string | number): Error {
  return mismatch(new Place(parent, key), 'whole bytes in hex (an even number of digits)', value)
}

import type { Hash, Hex } from '@upfront/protocol'
import { UpstreamFault } from './upstream-fault.js'

/** A `0x` quantity of at most `bits` bits. Leading zeros are allowed: some nodes send them. @throws UpstreamFault */
export function decodeQuantity(value: unknown, bits = 256): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{1,66}$/i.test(value)) throw malformed('a quantity', value)
  const quantity = BigInt(value)
  if (quantity >> BigInt(bits) !== 0n) throw malformed(`a quantity of ${bits} bits`, value)
  return quantity
}

/** Whole bytes, in lower case. @throws UpstreamFault */
export function decodeBytes(value: unknown): Hex {
  if (typeof value !== 'string' || value.length % 2 !== 0 || !/^0x[0-9a-f]*$/i.test(value))
    throw malformed('bytes', value)
  return value.toLowerCase() as Hex
}

/** Exactly `length` bytes. @throws UpstreamFault */
export function decodeFixedBytes(value: unknown, length: number): Hex {
  const bytes = decodeBytes(value)
  if (bytes.length !== 2 + 2 * length) throw malformed(`${length} bytes`, value)
  return bytes
}

/** A storage word. Shortened ones (`0x0`, `0x1`), as some nodes send them, are padded. @throws UpstreamFault */
export function decodeWord(value: unknown): Hash {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{0,64}$/i.test(value)) throw malformed('32 bytes', value)
  if (value.length === 66) return value.toLowerCase() as Hash
  return `0x${value.slice(2).toLowerCase().padStart(64, '0')}`
}

/** The fault for an answer of the wrong shape. The answer is not quoted, because it may contain anything. */
export function malformed(expected: string, got: unknown): UpstreamFault {
  if (got === null) return new UpstreamFault('null', `expected ${expected}, got null`)
  const kind = Array.isArray(got) ? 'a list' : typeof got === 'object' ? 'an object' : `a ${typeof got}`
  const shown = typeof got === 'string' ? `a string of ${got.length} characters` : kind
  return new UpstreamFault('malformed', `expected ${expected}, got ${got === undefined ? 'nothing' : shown}`)
}

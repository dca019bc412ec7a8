import type { Address, Hash } from '../hex.js'
import { decodeAddress, decodeBytes32 } from './bytes.js'
import { DecodeError, mismatch, Place } from './decode-error.js'
import { decodeObject as decodeJsonObject, type JsonObject } from './structure.js'

// Decoders for all documents except simulations. `field` is the path of a value from the document's root.

export type { JsonObject }

const UINT256_LIMIT = 1n << 256n

/** Does not quote a string, which may be a key. @throws DecodeError, like all functions of this file */
export function decodeObject(value: unknown, field: string): JsonObject {
  if (typeof value === 'string') throw invalidField(field, 'expected an object, got a string')
  return decodeJsonObject(value, 'an object', new Place(undefined, field))
}

/** Does not quote a string either. */
export function decodeList(value: unknown, field: string): unknown[] {
  if (typeof value === 'string') throw invalidField(field, 'expected an array, got a string')
  if (!Array.isArray(value)) throw mismatch(new Place(undefined, field), 'an array', value)
  return value
}

/** A string that matches the pattern. @param expected description for the error, if the pattern is not readable */
export function decodeText(value: unknown, pattern: RegExp, field: string, expected = pattern.source): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw mismatch(new Place(undefined, field), expected, value)
}

/** Like {@link decodeText}, for values that errors must not show. */
export function decodeSecret(value: unknown, pattern: RegExp, field: string, expected: string): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw invalidField(field, `expected ${expected}`)
}

/** NUL or a lone surrogate: databases can store neither. */
const UNSTORABLE = /\0|\p{Surrogate}/u

export function decodeString(value: unknown, field: string, maximumLength = 2_048): string {
  if (typeof value !== 'string') throw mismatch(new Place(undefined, field), 'a string', value)
  if (UNSTORABLE.test(value)) throw invalidField(field, 'must be text')
  if (value.length > maximumLength) throw invalidField(field, `must have at most ${maximumLength} characters`)
  return value
}

/** A uint256 as in x402 v2: a plain decimal string. Rejects hex, signs, blanks, exponents and leading zeros. */
export function decodeDecimal(value: unknown, field: string): bigint {
  if (typeof value !== 'string' || !/^(0|[1-9][0-9]{0,77})$/.test(value))
    throw mismatch(new Place(undefined, field), 'a plain decimal integer string', value)
  const decoded = BigInt(value)
  if (decoded >= UINT256_LIMIT) throw invalidField(field, 'must be below 2^256')
  return decoded
}

/** Hex digits in any case. `0X` is refused: other libraries that read the same document throw on it. */
export function decodeAddressField(value: unknown, field: string): Address {
  return decodeAddress(refuseLargeX(value, field), undefined, field)
}

export function decodeHash(value: unknown, field: string): Hash {
  return decodeBytes32(refuseLargeX(value, field), undefined, field)
}

function refuseLargeX(value: unknown, field: string): unknown {
  if (typeof value === 'string' && value.startsWith('0X')) throw invalidField(field, 'must begin with 0x')
  return value
}

/** CAIP-2, EVM only: `eip155:<chain id>`. */
export type Network = `eip155:${number}`

export function decodeNetwork(value: unknown, field: string): Network {
  if (typeof value !== 'string' || !/^eip155:[1-9][0-9]{0,15}$/.test(value))
    throw mismatch(new Place(undefined, field), 'a CAIP-2 network such as eip155:8453', value)
  return value as Network
}

export function decodeInteger(value: unknown, field: string, minimum = 0, maximum = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < minimum || value > maximum)
    throw mismatch(new Place(undefined, field), `an integer from ${minimum} to ${maximum}`, value)
  return value
}

export function decodeOneOf<const T extends string>(value: unknown, field: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw mismatch(new Place(undefined, field), `one of ${allowed.join(', ')}`, value)
  return found
}

/** Applies `decode` unless the value is null or absent; returns `null` then. */
export function decodeNullable<T>(value: unknown, field: string, decode: (value: unknown, field: string) => T) {
  return value === null || value === undefined ? null : decode(value, field)
}

/** Rejects unknown fields, so that misspelt ones are not silently ignored. */
export function refuseUnknownFields(object: object, field: string, known: readonly string[]): void {
  const unknown = Object.keys(object).find((key) => !known.includes(key))
  if (unknown !== undefined) throw invalidField(field === '' ? unknown : `${field}.${unknown}`, 'unknown field')
}

/** Rejects members nested so deeply that reading them could exhaust the stack. @param most levels of the object, itself included */
export function refuseDeep(object: JsonObject, field: string, most: number): void {
  const deep = Object.keys(object).find((key) => isDeeper(object[key], most - 1))
  if (deep !== undefined) throw invalidField(`${field}.${deep}`, `is nested deeper than ${most} levels`)
}

function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return most === 0 || Object.values(value).some((each) => isDeeper(each, most - 1))
}

/** The error for a field of the right type with an invalid value. */
export function invalidField(field: string, reason: string): DecodeError {
  return new DecodeError(new Place(undefined, field), reason)
}

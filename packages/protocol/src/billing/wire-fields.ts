import type { Address, Hash } from '../hex.js'

/** A body of the billing contract that does not decode. `field` is its path from the body's root, as a client would write it. */
export class BillingDecodeError extends Error {
  override readonly name = 'BillingDecodeError'
  constructor(
    readonly field: string,
    readonly problem: string,
  ) {
    super(`${field}: ${problem}`)
  }
}

const UINT256_LIMIT = 1n << 256n

export type JsonObject = Record<string, unknown>

export function decodeObject(value: unknown, field: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BillingDecodeError(field, 'must be an object')
  }
  return value as JsonObject
}

/** Neither NUL nor half a surrogate pair: databases store neither. */
const UNSTORABLE = /\0|\p{Surrogate}/u

export function decodeString(value: unknown, field: string, maximumLength = 2_048): string {
  if (typeof value !== 'string') throw new BillingDecodeError(field, 'must be a string')
  if (UNSTORABLE.test(value)) throw new BillingDecodeError(field, 'must be text')
  if (value.length > maximumLength) throw new BillingDecodeError(field, `must have at most ${maximumLength} characters`)
  return value
}

/** A uint256 as x402 v2 writes it: a plain decimal string. Hex, signs, blanks, exponents and leading zeros are refused. */
export function decodeDecimal(value: unknown, field: string): bigint {
  if (typeof value !== 'string' || !/^(0|[1-9][0-9]{0,77})$/.test(value)) {
    throw new BillingDecodeError(field, 'must be a plain decimal integer string')
  }
  const decoded = BigInt(value)
  if (decoded >= UINT256_LIMIT) throw new BillingDecodeError(field, 'must be below 2^256')
  return decoded
}

export function decodeAddressField(value: unknown, field: string): Address {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(value)) {
    throw new BillingDecodeError(field, 'must be a 20-byte hex address')
  }
  return value.toLowerCase() as Address
}

export function decodeHash(value: unknown, field: string): Hash {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(value)) {
    throw new BillingDecodeError(field, 'must be a 32-byte hex string')
  }
  return value.toLowerCase() as Hash
}

/** CAIP-2, EVM only: `eip155:<chain id>`. */
export type Network = `eip155:${number}`

export function decodeNetwork(value: unknown, field: string): Network {
  if (typeof value !== 'string' || !/^eip155:[1-9][0-9]{0,15}$/.test(value)) {
    throw new BillingDecodeError(field, 'must be a CAIP-2 network such as eip155:8453')
  }
  return value as Network
}

export function decodeInteger(value: unknown, field: string, minimum: number, maximum: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < minimum || value > maximum) {
    throw new BillingDecodeError(field, `must be an integer from ${minimum} to ${maximum}`)
  }
  return value
}

export function decodeOneOf<const T extends string>(value: unknown, field: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw new BillingDecodeError(field, `must be one of ${allowed.join(', ')}`)
  return found
}

/** `decode` where a value is present; `null` where it is null or absent. */
export function decodeNullable<T>(value: unknown, field: string, decode: (value: unknown, field: string) => T) {
  return value === null || value === undefined ? null : decode(value, field)
}

/** Refuses fields that the contract does not name, so that a misspelt one is not lost in silence. */
export function refuseUnknownFields(object: JsonObject, field: string, known: readonly string[]): void {
  const unknown = Object.keys(object).find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw new BillingDecodeError(field === '' ? unknown : `${field}.${unknown}`, 'is not known')
}

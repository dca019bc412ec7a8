import type { Address, Hex } from '@upfront/protocol'
import { readJsonFile } from '@upfront/service'

/** The key that signs receipts, and those that did before. */
export interface ReceiptKeys {
  privateKey: Hex
  retired: RetiredKey[]
}

interface RetiredKey {
  address: Address
  /** Until when it signed: seconds since 1970. */
  until: number
}

const PRIVATE_KEY = /^0x[0-9a-fA-F]{64}$/

/**
 * `RECEIPT_KEYS_FILE`: `{"key": "0x…", "retired": [{"address": "0x…", "until": "2026-11-22T00:00:00Z"}]}`.
 * @throws Error that names the field and quotes no key
 */
export function readReceiptKeysFile(path: string): ReceiptKeys {
  const { key, retired = [], ...others } = objectOf(readJsonFile(path), 'the file')
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new Error(`${unknown}: not known; there are key and retired`)
  if (!Array.isArray(retired)) throw new Error('retired: expected a list')
  return {
    privateKey: privateKeyOf(key),
    retired: retired.map((entry: unknown, index) => {
      const { address, until } = objectOf(entry, `retired[${index}]`)
      if (typeof address !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(address))
        throw new Error(`retired[${index}].address: expected an address`)
      const time = typeof until === 'string' ? Date.parse(until) : Number.NaN
      if (Number.isNaN(time)) throw new Error(`retired[${index}].until: expected a time such as "2026-11-22T00:00:00Z"`)
      return { address: address.toLowerCase() as Address, until: Math.floor(time / 1_000) }
    }),
  }
}

function privateKeyOf(value: unknown): Hex {
  if (typeof value !== 'string' || !PRIVATE_KEY.test(value) || /^0x0+$/.test(value))
    throw new Error('expected a private key: 0x and 64 hex digits')
  return value as Hex
}

function objectOf(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${field}: expected an object`)
  return value as Record<string, unknown>
}

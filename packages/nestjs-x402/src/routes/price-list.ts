import { createHash } from 'node:crypto'

/** A seller's prices, as buyers see them. */
export interface PriceList {
  version: string
  [price: string]: unknown
}

/** SHA-256 of the list's canonical JSON (RFC 8785). */
export function priceListHash(list: PriceList): `0x${string}` {
  return `0x${createHash('sha256').update(canonicalJson(list)).digest('hex')}`
}

/** RFC 8785 for parsed JSON. Written by hand because the library for it is ESM only, which CommonJS tests in Jest can't load. */
function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  fields.sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`
}

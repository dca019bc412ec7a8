import { createHash } from 'node:crypto'
import type { Hash } from '@upfront/protocol'
import canonicalize from 'canonicalize'

/**
 * SHA-256 of a value's canonical JSON (RFC 8785): independent of field order, white space and JSON library.
 * @throws Error if the value can't be represented in JSON
 */
export function jsonHash(value: unknown): Hash {
  const text = canonicalize(value)
  if (text === undefined) throw new Error('expected a JSON value')
  return `0x${createHash('sha256').update(text).digest('hex')}`
}

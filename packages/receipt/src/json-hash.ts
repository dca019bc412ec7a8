import { createHash } from 'node:crypto'
import type { Hash } from '@upfront/protocol'
import canonicalize from 'canonicalize'

/**
 * SHA-256 of a value's canonical JSON (RFC 8785), so that the order of fields, white space and the JSON library don't matter.
 * @throws Error where the value is no JSON
 */
export function jsonHash(value: unknown): Hash {
  const text = canonicalize(value)
  if (text === undefined) throw new Error('expected a JSON value')
  return `0x${createHash('sha256').update(text).digest('hex')}`
}

import { createHash } from 'node:crypto'
import type { Hash } from '@upfront/protocol'
import { malformed } from '../upstream/decode-result.js'

/**
 * A digest of all that a node says about its block under construction. Its hash is often null, and a state root zero, so
 * that no single field tells two of them apart. @throws UpstreamFault
 */
export function pendingIdentity(block: unknown): Hash {
  if (typeof block !== 'object' || block === null) throw malformed('a block', block)
  return `0x${createHash('sha256').update(JSON.stringify(block)).digest('hex')}`
}

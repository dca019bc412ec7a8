import { createHash } from 'node:crypto'
import { malformed } from '@upfront/node'
import { type Hash, ZERO_HASH } from '@upfront/protocol'

/**
 * A digest of what identifies the state of a node's block under construction. No single field does: the hash is often null, and
 * anvil's state root is zero. Some nodes move the block's time on every second; that alone is no other state where a state root
 * or an empty block shows it. @throws UpstreamFault
 */
export function pendingIdentity(block: unknown): Hash {
  if (typeof block !== 'object' || block === null) throw malformed('a block', block)
  const { number, parentHash, stateRoot, transactionsRoot, receiptsRoot, transactions } = block as Record<
    string,
    unknown
  >
  const empty = Array.isArray(transactions) && transactions.length === 0
  const told = typeof stateRoot === 'string' && stateRoot !== ZERO_HASH
  const identity =
    told || empty ? [number, parentHash, stateRoot, transactionsRoot, receiptsRoot, transactions] : [block]
  return `0x${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`
}

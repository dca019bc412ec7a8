import { createHash } from 'node:crypto'
import { malformed } from '@upfront/node'
import { type Hash, ZERO_HASH } from '@upfront/protocol'

/**
 * A digest of what makes the state of a node's block under construction. No single field does: the hash is often null, and
 * anvil's state root zero. Its time alone, which some nodes move on every second, makes no other state, unless there is
 * neither a state root nor an empty block to show that. @throws UpstreamFault
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

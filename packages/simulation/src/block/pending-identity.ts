import { createHash } from 'node:crypto'
import { malformed } from '@upfront/node'
import { type Hash, ZERO_HASH } from '@upfront/protocol'

/**
 * A digest that identifies the state of the node's pending block. No single field does: the hash is often null, and anvil's state root is
 * zero. Some nodes advance the timestamp every second; it is ignored if a state root or an empty block shows that the state is the same.
 * @throws UpstreamFault
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

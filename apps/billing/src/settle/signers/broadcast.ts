import { traced } from '@upfront/node'
import type { Logger } from '@upfront/service'
import type { Chain } from '../../chain/chain.js'
import { NodeFault, NodeRefusal } from '../../chain/node-error.js'
import type { SignedTransactionRow } from '../../ledger/schema.js'

/**
 * Sends a stored transaction. Whatever the node answers, the transaction stays stored and is looked for by its hash: an
 * answer that is lost or unclear is never taken for an outcome.
 */
export async function broadcast(chain: Chain, transaction: SignedTransactionRow, logger: Logger): Promise<void> {
  const { hash, signer, nonce, network } = transaction
  try {
    await traced('broadcast', () => chain.send(transaction.raw), { attributes: { network, nonce, transaction: hash } })
  } catch (error) {
    if (error instanceof NodeRefusal && /already known|already imported|known transaction/i.test(error.message)) return
    if (!(error instanceof NodeRefusal || error instanceof NodeFault)) throw error
    const level = error instanceof NodeRefusal && /insufficient funds/i.test(error.message) ? 'error' : 'warn'
    logger[level]({ network, signer, nonce, transaction: hash, reason: error.message }, 'broadcast not acknowledged')
  }
}

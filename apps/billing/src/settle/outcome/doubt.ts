import { RefusalReason } from '@upfront/protocol'
import type { Chain } from '../../chain/chain.js'
import { NodeRefusal } from '../../chain/node-error.js'
import { changePayment } from '../../ledger/change-payment.js'
import type { Database } from '../../ledger/ledger.js'
import type { PaymentRow } from '../../ledger/schema.js'
import { findObstacle } from './judge.js'

/** Why a charge could not be settled on the newest block, an x402 reason, and which that is. Throws `NodeFault`. */
export async function readDoubt(
  chain: Chain,
  payment: PaymentRow,
): Promise<{ doubt: string | null; blockNumber: bigint }> {
  const block = await chain.blockBelowHead(0n)
  if (block === null || payment.charge === null) return { doubt: null, blockNumber: chain.head.number }
  try {
    return { doubt: await findObstacle(block, payment, payment.charge), blockNumber: block.number }
  } catch (error) {
    // A node that does not show the state of a block by its hash.
    if (!(error instanceof NodeRefusal)) throw error
    return { doubt: RefusalReason.simulationFailed, blockNumber: block.number }
  }
}

/**
 * Notes what is against a charge, or that nothing is any more, so that its seller knows at once. Answers the payment as it is then;
 * `null`: it has moved on.
 */
export async function noteDoubt(
  db: Database,
  payment: PaymentRow,
  doubt: string | null,
  blockNumber: bigint,
): Promise<PaymentRow | null> {
  if (payment.doubt === doubt) return payment
  const from = payment.doubtfulFrom ?? blockNumber
  return changePayment(db, payment, {
    kind: doubt === null ? 'doubt lifted' : 'doubtful',
    set: { doubt, doubtfulFrom: doubt === null ? null : from },
    data: { doubt, block: blockNumber.toString() },
  })
}

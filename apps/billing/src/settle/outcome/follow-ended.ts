import { and, eq, gte } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { changePayment } from '../../ledger/change-payment.js'
import type { Database } from '../../ledger/ledger.js'
import { recordPaymentGas, recordTransfer, reverseBlock } from '../../ledger/record-receipt.js'
import { type PaymentRow, payments } from '../../ledger/schema.js'
import { readTransactions } from '../../ledger/signed-transactions.js'
import { concludeReorged, concludeSettled } from './conclude.js'
import { findReceipt, readReceipt } from './find-receipt.js'
import { findReorged, WATCHED_BLOCKS } from './find-reorged.js'
import { findTransfer } from './find-transfer.js'

/** More are looked at in the next round. */
const MOST_FAILURES = 200

/** Looks after payments whose block the chain has dropped. Answers those that are under way again. Throws `NodeFault`. */
export async function reopenReorged(db: Database, chain: Chain): Promise<PaymentRow[]> {
  const reopened: PaymentRow[] = []
  for (const payment of await findReorged(db, chain)) {
    const reorged = await reopen(db, chain, payment)
    if (reorged !== null) reopened.push(reorged)
  }
  return reopened
}

/**
 * A payment whose block the chain has dropped is under way again. `null`: it has moved on, or is in another block by now, and
 * that is recorded. Throws `NodeFault`.
 */
export async function reopen(db: Database, chain: Chain, payment: PaymentRow): Promise<PaymentRow | null> {
  const receipt = await readReceipt(db, chain, payment)
  const transfer = receipt?.succeeded ? findTransfer(payment, receipt.logs) : null
  if (!receipt || receipt.blockHash === payment.blockHash || transfer?.amount !== payment.charge) {
    return concludeReorged(db, payment)
  }
  await changePayment(db, payment, {
    kind: 'mined',
    set: { blockNumber: receipt.blockNumber, blockHash: receipt.blockHash },
    data: { transaction: receipt.hash, block: receipt.blockNumber.toString() },
    along: [
      ...(payment.blockHash === null ? [] : reverseBlock(payment.blockHash)),
      recordPaymentGas(receipt),
      recordTransfer(receipt, transfer),
    ],
  })
  return null
}

/**
 * Looks for the transfers of payments that failed not long ago, as long as settlements are looked after: a node may have
 * been wrong for longer than anybody expects. Answers those that are settled now. Throws `NodeFault`.
 */
export async function healFailed(db: Database, chain: Chain): Promise<PaymentRow[]> {
  const watched = gte(payments.judgedBlock, chain.head.number - WATCHED_BLOCKS)
  const failed = await db
    .select()
    .from(payments)
    .where(and(eq(payments.network, chain.network), eq(payments.state, 'failed'), watched))
    .limit(MOST_FAILURES)
  const healed: PaymentRow[] = []
  for (const payment of failed) {
    const receipt = await findReceipt(chain, await readTransactions(db, payment))
    const transfer = receipt?.succeeded ? findTransfer(payment, receipt.logs) : null
    if (!receipt || transfer?.amount !== payment.charge) continue
    const settled = await concludeSettled(db, chain, payment, receipt, transfer)
    if (settled?.state === 'settled') healed.push(settled)
  }
  return healed
}

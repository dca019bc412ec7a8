import { eq } from 'drizzle-orm'
import type { Receipt } from '../../chain/receipt.js'
import { batchPart } from '../../chain/settlement-batch.js'
import type { Database } from '../../ledger/ledger.js'
import { recordGas } from '../../ledger/record-receipt.js'
import { type SignedTransactionRow, signedTransactions } from '../../ledger/schema.js'
import { readPaymentIds } from '../../ledger/signed-transactions.js'

/**
 * Records the cost of a mined transaction: split among the payments of a batch, else in full.
 * @param receipt of the whole transaction
 */
export async function recordCost(
  db: Database,
  receipt: Receipt,
  { network, signer, hash }: SignedTransactionRow,
): Promise<void> {
  const paymentIds = await readPaymentIds(db, hash)
  const items = paymentIds.length
  await db.transaction(async (tx) => {
    for (const [item, paymentId] of (items === 0 ? [null] : paymentIds).entries()) {
      const share = items > 1 ? batchPart(receipt, { to: signer, item, items }) : receipt
      await tx.execute(recordGas(share, { network, signer, paymentId }))
    }
    await tx.update(signedTransactions).set({ status: 'mined' }).where(eq(signedTransactions.hash, hash))
  })
}

import type { Chain } from '../../chain/chain.js'
import { changePayment } from '../../ledger/change-payment.js'
import type { Database } from '../../ledger/ledger.js'
import { recordTransfer, reverseBlock } from '../../ledger/record-receipt.js'
import type { PaymentRow } from '../../ledger/schema.js'
import { concludeReorged, ownGas } from './conclude.js'
import { readReceipt } from './find-receipt.js'
import { findTransfer } from './find-transfer.js'

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
      ...ownGas(receipt),
      recordTransfer(receipt, transfer),
    ],
  })
  return null
}

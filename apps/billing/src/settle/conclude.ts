import { isNotNull, isNull, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Chain, Receipt } from '../chain/chain.js'
import { changePayment, type PaymentChange } from '../ledger/change-payment.js'
import type { Database } from '../ledger/ledger.js'
import { type PaymentRow, payments, signedTransactions } from '../ledger/schema.js'
import { transferredAmount } from './find-settlement.js'

/** Writes what a receipt says: mined at once, settled (or failed) once it has its confirmations. `null`: moved on meanwhile. */
export async function concludeMined(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  receipt: Receipt,
): Promise<PaymentRow | null> {
  const confirmed = chain.head.number - receipt.blockNumber + 1n >= BigInt(chain.confirmations)
  if (payment.blockHash === receipt.blockHash && !confirmed) return payment
  const moved = transferredAmount(payment, receipt.logs)
  const mined = describeMined(payment, receipt)
  return changePayment(
    db,
    payment,
    !confirmed
      ? { kind: 'mined', ...mined }
      : moved === payment.charge
        ? { kind: 'settled', to: 'settled', ...mined }
        : { kind: 'failed', to: 'failed', reason: 'transfer_event_mismatch', ...mined },
  )
}

/** Writes that a settlement is in another block than it was before a reorg. */
export function recordMined(db: Database, payment: PaymentRow, receipt: Receipt): Promise<PaymentRow | null> {
  const elsewhere = or(isNull(payments.blockHash), ne(payments.blockHash, receipt.blockHash))
  return changePayment(db, payment, { kind: 'mined', ...describeMined(payment, receipt), where: elsewhere })
}

function describeMined(payment: PaymentRow, receipt: Receipt): Pick<PaymentChange, 'set' | 'data' | 'along'> {
  return {
    set: {
      transaction: receipt.hash,
      blockNumber: receipt.blockNumber,
      blockHash: receipt.blockHash,
      gasUsed: receipt.gasUsed,
      feePaid: receipt.fee,
    },
    data: {
      transaction: receipt.hash,
      block: receipt.blockNumber.toString(),
      gasUsed: receipt.gasUsed.toString(),
      feePaid: receipt.fee.toString(),
      transferred: transferredAmount(payment, receipt.logs)?.toString() ?? null,
    },
    along: markMined(receipt),
  }
}

function markMined({ hash }: Receipt): SQL {
  return sql`update ${signedTransactions} set status = 'mined' from changed where ${signedTransactions.hash} = ${hash}`
}

/** Ends a payment that can't be settled. `receipt`: of the transaction that reverted, where one was mined. */
export async function concludeFailed(
  db: Database,
  payment: PaymentRow,
  reason: string,
  receipt: Receipt | null,
): Promise<PaymentRow | null> {
  const spent = receipt === null ? {} : { gasUsed: receipt.gasUsed, feePaid: receipt.fee }
  return changePayment(db, payment, {
    kind: 'failed',
    to: 'failed',
    reason,
    set: { ...spent, ...(receipt === null ? {} : { transaction: receipt.hash, blockHash: receipt.blockHash }) },
    data: { transaction: receipt?.hash ?? payment.transaction, gasUsed: receipt?.gasUsed.toString() ?? null },
    along: receipt === null ? undefined : markMined(receipt),
  })
}

/** Its block is gone: the payment is as before it was mined. `null`: moved on meanwhile. */
export async function concludeReorged(db: Database, payment: PaymentRow): Promise<PaymentRow | null> {
  return changePayment(db, payment, {
    kind: 'reorged',
    where: isNotNull(payments.blockNumber),
    set: { blockNumber: null, blockHash: null, gasUsed: null, feePaid: null },
    data: { transaction: payment.transaction, block: payment.blockNumber?.toString() ?? null },
    along: sql`update ${signedTransactions} set status = 'open' from changed
      where ${signedTransactions.paymentId} = changed.id and ${signedTransactions.status} <> 'displaced'`,
  })
}

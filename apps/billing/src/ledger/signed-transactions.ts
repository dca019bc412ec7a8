import { asc, desc, eq, getTableColumns, inArray, sql } from 'drizzle-orm'
import type { Database, Transaction } from './ledger.js'
import { type PaymentRow, type SignedTransactionRow, settlementItems, signedTransactions } from './schema.js'

/** A signed transaction as seen by one of the payments that it settles. */
export interface OwnTransaction extends SignedTransactionRow {
  /** Index of the payment among the transaction's `items`. More than one item: a batch. */
  item: number
  items: number
}

/** All transactions signed to settle the payment, newest first. */
export function readTransactions(
  db: Database | Transaction,
  payment: Pick<PaymentRow, 'id'>,
): Promise<OwnTransaction[]> {
  return db
    .select({
      ...getTableColumns(signedTransactions),
      item: settlementItems.item,
      items: sql<number>`(select count(*)::int from settlement_items as every where every.hash = ${signedTransactions.hash})`,
    })
    .from(settlementItems)
    .innerJoin(signedTransactions, eq(signedTransactions.hash, settlementItems.hash))
    .where(eq(settlementItems.paymentId, payment.id))
    .orderBy(desc(signedTransactions.signedAt))
}

/** Ids of the payments that a transaction settles, by index. Empty if it settles none. */
export async function readPaymentIds(
  db: Database | Transaction,
  hash: SignedTransactionRow['hash'],
): Promise<string[]> {
  const items = await db
    .select({ paymentId: settlementItems.paymentId })
    .from(settlementItems)
    .where(eq(settlementItems.hash, hash))
    .orderBy(asc(settlementItems.item))
  return items.map(({ paymentId }) => paymentId)
}

/** Stores a transaction before broadcast, with the payments that it settles, in order. */
export async function storeTransaction(
  tx: Transaction,
  transaction: SignedTransactionRow,
  paymentIds: readonly string[],
): Promise<void> {
  const insert = tx.insert(signedTransactions).values(transaction)
  if (paymentIds.length === 0) return void (await insert)
  const { hash } = transaction
  const items = paymentIds.map((paymentId, item) => ({ hash, item, paymentId }))
  await tx.with(tx.$with('stored').as(insert.returning())).insert(settlementItems).values(items)
}

/** Marks transactions whose nonce another one used, or gets. */
export async function markDisplaced(
  db: Database | Transaction,
  transactions: readonly Pick<SignedTransactionRow, 'hash'>[],
): Promise<void> {
  if (transactions.length === 0) return
  const hashes = transactions.map(({ hash }) => hash)
  const locked = db
    .select({ hash: signedTransactions.hash })
    .from(signedTransactions)
    .where(inArray(signedTransactions.hash, hashes))
    .orderBy(asc(signedTransactions.hash))
    .for('no key update')
  await db.update(signedTransactions).set({ status: 'displaced' }).where(inArray(signedTransactions.hash, locked))
}

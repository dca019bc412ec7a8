import type { Address, Network } from '@upfront/protocol'
import { and, eq } from 'drizzle-orm'
import type { Database, Transaction } from '../ledger/database.js'
import { type PaymentRow, payments } from '../ledger/schema.js'

/** What an authorization became. */
export async function findPayment(
  db: Database | Transaction,
  network: Network,
  payer: Address,
  nonce: bigint,
): Promise<PaymentRow | null> {
  const [row] = await db
    .select()
    .from(payments)
    .where(and(eq(payments.network, network), eq(payments.payer, payer), eq(payments.nonce, nonce)))
  return row ?? null
}

/** As ids are given out; anything else is nobody's, and need not be storable text. */
export const PAYMENT_ID = /^pay_[0-9a-f-]{36}$/

export async function findPaymentById(db: Database | Transaction, id: string): Promise<PaymentRow | null> {
  if (!PAYMENT_ID.test(id)) return null
  const [row] = await db.select().from(payments).where(eq(payments.id, id))
  return row ?? null
}

import type { Address, Network } from '@upfront/protocol'
import { and, eq } from 'drizzle-orm'
import type { Database, Transaction } from './ledger.js'
import { type PaymentRow, payments } from './schema.js'

/** Finds the payment made with an authorization; `null` if there is none. */
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

/** Format of billing's payment ids. Other texts are not looked up: Postgres may reject them as invalid text. */
export const PAYMENT_ID = /^pay_[0-9a-f-]{36}$/

export async function findPaymentById(db: Database | Transaction, id: string): Promise<PaymentRow | null> {
  if (!PAYMENT_ID.test(id)) return null
  const [row] = await db.select().from(payments).where(eq(payments.id, id))
  return row ?? null
}

import { PAYMENT_TRANSITIONS, type Payment, type PaymentState } from '@upfront/protocol'
import { and, eq, isNull } from 'drizzle-orm'
import type { Transaction } from './database.js'
import { type NewPaymentRow, type PaymentRow, paymentEvents, payments } from './schema.js'

/** What an event says beyond states and reason: amounts and numbers as strings, never a signature. */
export type EventData = Record<string, string | number | null>

export interface PaymentChange {
  /** What happened: `charged`, `mined`, `reorged`, … */
  kind: string
  /** Absent: the state stays. */
  to?: PaymentState
  /** Absent: the payment's reason stays. */
  reason?: string
  set?: Partial<NewPaymentRow>
  data?: EventData
}

/** Stores a new payment with its first event. `null`: its (network, payer, nonce) is already used. */
export async function insertPayment(tx: Transaction, row: NewPaymentRow, data: EventData): Promise<PaymentRow | null> {
  const [inserted] = await tx
    .insert(payments)
    .values(row)
    .onConflictDoNothing({ target: [payments.network, payments.payer, payments.nonce] })
    .returning()
  if (inserted === undefined) return null
  await tx.insert(paymentEvents).values({
    paymentId: inserted.id,
    at: inserted.updatedAt,
    kind: 'authorized',
    fromState: null,
    toState: inserted.state,
    reason: inserted.reason,
    data,
  })
  return inserted
}

/**
 * Changes a payment and appends the event that says so. `payment` is the row as last read: where it has moved on
 * meanwhile nothing is written and `null` is answered.
 */
export async function changePayment(
  tx: Transaction,
  payment: Pick<PaymentRow, 'id' | 'state' | 'transaction'>,
  change: PaymentChange,
): Promise<PaymentRow | null> {
  const to = change.to ?? payment.state
  if (to !== payment.state && !PAYMENT_TRANSITIONS[payment.state]?.includes(to)) {
    throw new Error(`payment ${payment.id} cannot go from ${payment.state} to ${to}`)
  }
  const now = new Date()
  const finished = to !== payment.state && PAYMENT_TRANSITIONS[to] === undefined
  const [updated] = await tx
    .update(payments)
    .set({
      ...change.set,
      state: to,
      updatedAt: now,
      ...(change.reason === undefined ? {} : { reason: change.reason }),
      ...(finished ? { finishedAt: now } : {}),
    })
    .where(
      and(
        eq(payments.id, payment.id),
        eq(payments.state, payment.state),
        payment.transaction === null ? isNull(payments.transaction) : eq(payments.transaction, payment.transaction),
      ),
    )
    .returning()
  if (updated === undefined) return null
  await tx.insert(paymentEvents).values({
    paymentId: payment.id,
    at: now,
    kind: change.kind,
    fromState: payment.state,
    toState: to,
    reason: change.reason ?? null,
    data: change.data ?? {},
  })
  return updated
}

/** The row as the contract shows it: without its signature. */
export function toPayment(row: PaymentRow): Payment {
  return {
    id: row.id,
    state: row.state,
    network: row.network,
    asset: row.asset,
    payer: row.payer,
    payTo: row.payTo,
    facilitator: row.facilitator,
    nonce: row.nonce,
    maximum: row.maximum,
    charge: row.charge,
    deadline: row.deadline,
    route: row.route,
    reason: row.reason,
    transaction: row.transaction,
    blockNumber: row.blockNumber,
    gasUsed: row.gasUsed,
    feePaid: row.feePaid,
    createdAt: row.createdAt.toISOString(),
    chargedAt: row.chargedAt?.toISOString() ?? null,
    submittedAt: row.submittedAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
  }
}

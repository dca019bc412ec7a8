import { isFinal, PAYMENT_TRANSITIONS, type Payment, type PaymentState, schemeOf } from '@upfront/protocol'
import { and, asc, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Database, Transaction } from './ledger.js'
import { type PaymentRow, paymentEvents, payments } from './schema.js'

/** Data of an event besides states and reason. Amounts and numbers are strings; never contains a signature. */
export type EventData = Record<string, string | number | null>

export interface PaymentChange {
  /** The event: `charged`, `mined`, `reorged`, … */
  kind: string
  /** New state. Default: unchanged. */
  to?: PaymentState
  /** New reason. Default: unchanged. */
  reason?: string | null
  set?: PgUpdateSetSource<typeof payments>
  data?: EventData
  /** Additional condition on the row. */
  where?: SQL | undefined
  /** Statements run only if the payment changes. They select from `changed`, the payment's new row. */
  along?: readonly SQL[]
}

/**
 * Changes a payment and appends the matching event in one statement. `payment` is the row as last read. Returns `null`, and writes nothing,
 * if another process changed the payment first.
 */
export async function changePayment(
  db: Database | Transaction,
  payment: Pick<PaymentRow, 'id' | 'state' | 'transaction'>,
  change: PaymentChange,
): Promise<PaymentRow | null> {
  const to = change.to ?? payment.state
  if (to !== payment.state && !PAYMENT_TRANSITIONS[payment.state].includes(to)) {
    throw new Error(`payment ${payment.id} cannot go from ${payment.state} to ${to}`)
  }
  const now = new Date()
  const ended = isFinal(to) ? { finishedAt: now, nextLook: null } : { finishedAt: null }
  const finished = to === payment.state ? {} : ended
  const changed = db.$with('changed').as(
    db
      .update(payments)
      .set({
        ...change.set,
        state: to,
        updatedAt: now,
        ...(change.reason === undefined ? {} : { reason: change.reason }),
        ...finished,
      })
      .where(
        and(
          eq(payments.id, payment.id),
          eq(payments.state, payment.state),
          payment.transaction === null ? isNull(payments.transaction) : eq(payments.transaction, payment.transaction),
          change.where,
        ),
      )
      .returning(),
  )
  const event = db.$with('event', {}).as(
    sql`insert into ${paymentEvents} (payment_id, at, kind, from_state, to_state, reason, data)
      select id, updated_at, ${change.kind}::text, ${payment.state}::text, state, ${change.reason ?? null}::text,
        ${JSON.stringify(change.data ?? {})}::jsonb from changed`,
  )
  const along = (change.along ?? []).map((statement, index) => db.$with(`along_${index}`, {}).as(statement))
  const [updated] = await db
    .with(changed, event, ...along)
    .select()
    .from(changed)
  return updated ?? null
}

/** Locks payments in the order that all use (see {@link Ledger}), and reads them. */
export function lockPayments(tx: Transaction, ids: readonly string[]): Promise<PaymentRow[]> {
  return tx
    .select()
    .from(payments)
    .where(inArray(payments.id, [...ids]))
    .orderBy(asc(payments.id))
    .for('no key update')
}

/** The row as the API shows it, without its signature. */
export function toPayment(row: PaymentRow): Payment {
  return {
    id: row.id,
    scheme: schemeOf(row.kind),
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
    doubt: row.doubt,
    blockNumber: row.blockNumber,
    gasUsed: row.gasUsed,
    feePaid: row.feePaid,
    createdAt: row.createdAt.toISOString(),
    chargedAt: row.chargedAt?.toISOString() ?? null,
    submittedAt: row.submittedAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
  }
}

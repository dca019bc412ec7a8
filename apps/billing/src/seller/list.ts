import { encodePayment, type JsonObject } from '@upfront/protocol'
import { and, asc, desc, eq, lt } from 'drizzle-orm'
import { toPayment } from '../ledger/change-payment.js'
import type { Database } from '../ledger/ledger.js'
import { type PaymentRow, paymentEvents, payments } from '../ledger/schema.js'
import { readTransactions } from '../ledger/signed-transactions.js'
import { type PaymentFilter, type PaymentPage, whereOf } from './payment-filter.js'

const EXPORT_PAGE = 500

/** Newest first. A cursor stays valid while new payments arrive. */
export async function listPayments(db: Database, page: PaymentPage): Promise<JsonObject> {
  const rows = await readPage(db, page, page.cursor === undefined ? null : BigInt(page.cursor), page.limit + 1)
  const shown = rows.slice(0, page.limit)
  const nextCursor = rows.length > page.limit ? (shown.at(-1)?.sequence?.toString() ?? null) : null
  return { payments: shown.map((row) => encodePayment(toPayment(row))), nextCursor }
}

/** One payment with all its events and signed transactions. */
export async function describePayment(db: Database, payment: PaymentRow): Promise<JsonObject> {
  const { id } = payment
  const events = await db
    .select()
    .from(paymentEvents)
    .where(eq(paymentEvents.paymentId, id))
    .orderBy(asc(paymentEvents.id))
  const transactions = (await readTransactions(db, payment)).reverse()
  return {
    payment: encodePayment(toPayment(payment)),
    events: events.map(({ id: eventId, paymentId: _, at, ...event }) => ({
      id: eventId.toString(),
      at: at.toISOString(),
      ...event,
    })),
    transactions: transactions.map((transaction) => ({
      hash: transaction.hash,
      signer: transaction.signer,
      nonce: transaction.nonce,
      status: transaction.status,
      maxFeePerGas: transaction.maxFeePerGas.toString(),
      signedAt: transaction.signedAt.toISOString(),
      item: transaction.item,
      items: transaction.items,
    })),
  }
}

const CSV_HEADER =
  'id,state,network,asset,payer,payTo,facilitator,nonce,maximum,charge,deadline,route,reason,transaction,blockNumber,gasUsed,feePaid,createdAt,chargedAt,submittedAt,finishedAt'

/** All payments of a filter as CSV (RFC 4180), newest first, page by page. */
export async function* exportCsv(db: Database, filter: PaymentFilter): AsyncGenerator<string> {
  yield `${CSV_HEADER}\r\n`
  const columns = CSV_HEADER.split(',')
  let cursor: bigint | null = null
  for (;;) {
    const rows = await readPage(db, filter, cursor, EXPORT_PAGE)
    for (const row of rows) {
      const payment = encodePayment(toPayment(row))
      yield `${columns.map((column) => csvCell(payment[column] ?? '')).join(',')}\r\n`
    }
    const last = rows.at(-1)?.sequence
    if (rows.length < EXPORT_PAGE || last === undefined || last === null) return
    cursor = last
  }
}

/** Spreadsheets interpret cells that start with `=`, `+`, `-` or `@` as formulas, and routes are untrusted text. */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function readPage(db: Database, filter: PaymentFilter, cursor: bigint | null, limit: number): Promise<PaymentRow[]> {
  return db
    .select()
    .from(payments)
    .where(and(whereOf(filter), cursor === null ? undefined : lt(payments.sequence, cursor)))
    .orderBy(desc(payments.sequence))
    .limit(limit)
}

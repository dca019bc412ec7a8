import type { JsonObject } from '@upfront/protocol'
import { sql, sum } from 'drizzle-orm'
import { isInState } from '../ledger/is-in-state.js'
import type { Database } from '../ledger/ledger.js'
import { gas, payments, postings } from '../ledger/schema.js'
import { type PaymentFilter, whereOf } from './payment-filter.js'

/**
 * Totals per route, day (UTC, by authorization time), network and token. `charged` is the requested amount, `settled` the moved amount
 * (smallest unit); `feePaid` is the signers' cost, including reverted transactions (wei).
 */
export async function totalPayments(db: Database, filter: PaymentFilter): Promise<JsonObject> {
  const day = sql<string>`to_char(${payments.createdAt} at time zone 'UTC', 'YYYY-MM-DD')`
  const sumWhere = (amount: unknown, condition: unknown) =>
    sql<string>`coalesce(sum(${amount}) filter (where ${condition}), 0)::text`
  const countWhere = (condition: unknown) => sql<number>`(count(*) filter (where ${condition}))::int`
  const gasOfPayment = sql`coalesce((select sum(${gas.fee}) from ${gas} where ${gas.paymentId} = ${payments.id}), 0)`
  const rows = await db
    .select({
      day,
      route: payments.route,
      network: payments.network,
      asset: payments.asset,
      payments: sql<number>`count(*)::int`,
      settledPayments: countWhere(isInState('settled')),
      zeroPayments: countWhere(isInState('zero')),
      failedPayments: countWhere(isInState('failed')),
      openPayments: countWhere(isInState('authorized', 'charging', 'submitted')),
      charged: sumWhere(payments.charge, sql`true`),
      settled: sumWhere(payments.charge, isInState('settled')),
      pending: sumWhere(payments.charge, isInState('charging', 'submitted')),
      failed: sumWhere(payments.charge, isInState('failed')),
      feePaid: sumWhere(gasOfPayment, sql`true`),
    })
    .from(payments)
    .where(whereOf(filter))
    .groupBy(day, payments.route, payments.network, payments.asset)
    .orderBy(sql`1 desc`, payments.route)
  return { totals: rows }
}

/**
 * Balance of each account: per token `reserved`, `receivable`, `received` and `written off` against `promised` (smallest unit); each
 * signer's `gas` cost (`native`, wei). Per network and asset they sum to zero.
 */
export async function sumAccounts(db: Database): Promise<JsonObject> {
  const rows = await db
    .select({
      network: postings.network,
      asset: postings.asset,
      account: postings.account,
      amount: sql<string>`${sum(postings.amount)}::text`,
    })
    .from(postings)
    .groupBy(postings.network, postings.asset, postings.account)
    .orderBy(postings.network, postings.asset, postings.account)
  return { accounts: rows }
}

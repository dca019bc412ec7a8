import type { JsonObject } from '@upfront/protocol'
import { min, sql } from 'drizzle-orm'
import type { Chains } from '../chain/chains.js'
import type { Database } from '../ledger/ledger.js'
import { payments } from '../ledger/schema.js'
import { compare, type Difference, type Finding } from '../settle/reconcile/compare.js'
import { RANGE_BLOCKS } from '../settle/reconcile/follow-chain.js'
import { type PaymentFilter, whereOf } from './payment-filter.js'

/**
 * Compares the ledger with the chain's Transfer events, both ways, for the payments of a filter. Changes nothing. Payments under way are
 * counted, not compared. Throws `NodeFault`.
 */
export async function reconcile(db: Database, chains: Chains, filter: PaymentFilter): Promise<JsonObject> {
  const where = whereOf(filter)
  const networks = await db
    .select({
      network: payments.network,
      fromBlock: min(payments.authorizedBlock),
      open: sql<number>`(count(*) filter (where ${payments.state} in ('authorized', 'charging', 'submitted')))::int`,
      settled: sql<number>`(count(*) filter (where ${payments.state} = 'settled'))::int`,
    })
    .from(payments)
    .where(where)
    .groupBy(payments.network)
  const differences: Difference[] = []
  for (const { network, fromBlock } of networks) {
    const chain = chains.of(network)
    const { number: last } = await chain.head.refresh()
    for (let from = BigInt(fromBlock ?? 0); from <= last; from += RANGE_BLOCKS) {
      const to = from + RANGE_BLOCKS - 1n < last ? from + RANGE_BLOCKS - 1n : last
      const findings = await compare(db, chain, { from, to }, where)
      const isOpen = (finding: Finding) => finding.kind === 'settled' && finding.payment.state !== 'failed'
      const found = findings.filter((finding) => !isOpen(finding)).map(asDifference)
      differences.push(...found.filter((difference) => matchesFilter(filter, difference)))
    }
  }
  const count = (key: 'open' | 'settled') => networks.reduce((total, each) => total + each[key], 0)
  return { settledPayments: count('settled'), openPayments: count('open'), differences }
}

/** A finding that following the chain will repair is still a difference until then. */
function asDifference(finding: Finding): Difference {
  if (finding.kind === 'difference') return finding.difference
  const { id: paymentId, network, asset, payTo, state, transaction, charge, blockNumber } = finding.payment
  const of = { network, asset, payTo, paymentId, state, ledgerAmount: `${charge}` }
  if (finding.kind === 'dropped') {
    return { kind: 'missing on chain', ...of, transaction, blockNumber: `${blockNumber}`, chainAmount: null }
  }
  const { receipt, transfer } = finding
  const moved = { transaction: receipt.hash, blockNumber: `${receipt.blockNumber}`, chainAmount: `${transfer.amount}` }
  return { kind: 'moved but not settled', ...of, ...moved }
}

/** With a filter by payer, route, state or time, a found transfer may belong to a payment outside the filter. */
function matchesFilter({ payer, route, state, from, to }: PaymentFilter, { paymentId }: Difference): boolean {
  return paymentId !== null || [payer, route, state, from, to].every((value) => value === undefined)
}

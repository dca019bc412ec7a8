import { and, eq, gt, sql } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { DAY_MS, HOUR_MS, sumSpentGas } from '../../ledger/gas-sums.js'
import type { Database } from '../../ledger/ledger.js'
import { transfers } from '../../ledger/schema.js'
import type { BillingMetrics } from '../../metrics.js'

/** Sets the metrics for a chain's gas cost and income of the last day, and how long its signers' balances last. Throws `NodeFault`. */
export async function measureEconomics(db: Database, chain: Chain, metrics: BillingMetrics): Promise<void> {
  const { network } = chain
  metrics.gasSpentInADay.set({ network }, Number(await sumSpentGas(db, { network })))
  const yesterday = new Date(Date.now() - DAY_MS)
  const received = await db
    .select({ asset: transfers.asset, amount: sql<string>`sum(${transfers.amount})::text` })
    .from(transfers)
    .where(and(eq(transfers.network, network), gt(transfers.recordedAt, yesterday)))
    .groupBy(transfers.asset)
  for (const asset of chain.tokens.keys()) {
    const found = received.find((row) => row.asset === asset)
    metrics.receivedInADay.set({ network, asset }, Number(found?.amount ?? 0))
  }
  for (const signer of chain.signers.keys()) {
    const fee = Number(await sumSpentGas(db, { network, signer }, HOUR_MS))
    const hours = fee === 0 ? Number.POSITIVE_INFINITY : Number(await chain.latest.balance(signer)) / fee
    metrics.signerHoursLeft.set({ network, signer }, hours)
  }
}

import { and, eq, gt, sql } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import type { Database } from '../../ledger/ledger.js'
import { gas, transfers } from '../../ledger/schema.js'
import type { BillingMetrics } from '../../metrics.js'

const HOUR_MILLISECONDS = 3_600_000

/** Sets what a chain's settlements cost and brought in over a day, and how long its signers' money lasts. Throws `NodeFault`. */
export async function measureEconomics(db: Database, chain: Chain, metrics: BillingMetrics): Promise<void> {
  const { network } = chain
  const yesterday = new Date(Date.now() - 24 * HOUR_MILLISECONDS)
  const [spent] = await db
    .select({ fee: sql<string>`coalesce(sum(${gas.fee}), 0)::text` })
    .from(gas)
    .where(and(eq(gas.network, network), gt(gas.recordedAt, yesterday)))
  metrics.gasSpentInADay.set({ network }, Number(spent?.fee ?? 0))
  const received = await db
    .select({ asset: transfers.asset, amount: sql<string>`sum(${transfers.amount})::text` })
    .from(transfers)
    .where(and(eq(transfers.network, network), gt(transfers.recordedAt, yesterday)))
    .groupBy(transfers.asset)
  for (const asset of chain.tokens.keys()) {
    const found = received.find((row) => row.asset === asset)
    metrics.receivedInADay.set({ network, asset }, Number(found?.amount ?? 0))
  }
  const anHourAgo = new Date(Date.now() - HOUR_MILLISECONDS)
  for (const signer of chain.signers.keys()) {
    const [hour] = await db
      .select({ fee: sql<string>`coalesce(sum(${gas.fee}), 0)::text` })
      .from(gas)
      .where(and(eq(gas.network, network), eq(gas.signer, signer), gt(gas.recordedAt, anHourAgo)))
    const fee = Number(hour?.fee ?? 0)
    const hours = fee === 0 ? Number.POSITIVE_INFINITY : Number(await chain.balance(signer)) / fee
    metrics.signerHoursLeft.set({ network, signer }, hours)
  }
}

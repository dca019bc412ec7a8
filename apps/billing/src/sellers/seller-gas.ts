import type { Network } from '@upfront/protocol'
import { and, eq, gt, sql } from 'drizzle-orm'
import type { Database } from '../ledger/ledger.js'
import { gas, payments } from '../ledger/schema.js'

const DAY_MILLISECONDS = 24 * 3_600_000

/** Wei that a seller's settlements have cost on one network in 24 hours. */
export async function readSellerGas(db: Database, seller: string, network: Network): Promise<bigint> {
  const since = new Date(Date.now() - DAY_MILLISECONDS)
  const [spent] = await db
    .select({ fee: sql<string>`coalesce(sum(${gas.fee}), 0)::text` })
    .from(gas)
    .innerJoin(payments, eq(payments.id, gas.paymentId))
    .where(and(eq(payments.seller, seller), eq(gas.network, network), gt(gas.recordedAt, since)))
  return BigInt(spent?.fee ?? 0)
}

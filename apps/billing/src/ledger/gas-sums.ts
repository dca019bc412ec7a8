import type { Address, Network } from '@upfront/protocol'
import { and, count, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Database, Transaction } from './ledger.js'
import { gas, payments } from './schema.js'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** Wei spent on mined transactions within a period: of a network, of one signer, or for one seller's payments. */
export async function sumSpentGas(
  db: Database | Transaction,
  { network, signer, seller }: { network: Network; signer?: Address; seller?: string },
  milliseconds = DAY_MS,
): Promise<bigint> {
  const isOfSeller = sql`exists (select from ${payments} where ${payments.id} = ${gas.paymentId} and ${payments.seller} = ${seller})`
  const [spent] = await db
    .select({ fee: sql<string>`coalesce(sum(${gas.fee}), 0)::text` })
    .from(gas)
    .where(
      and(
        eq(gas.network, network),
        gt(gas.recordedAt, new Date(Date.now() - milliseconds)),
        signer && eq(gas.signer, signer),
        seller === undefined ? undefined : isOfSeller,
      ),
    )
  return BigInt(spent?.fee ?? 0)
}

/** Wei: per gas, and the L1 fee of a settlement on an OP-stack chain. */
export interface GasPrice {
  maxFeePerGas: bigint
  l1Fee: bigint
}

/** Upper bound in wei for settling the payments selected by `where` at this price. */
export async function sumPromisedGas(
  db: Database | Transaction,
  where: SQL | undefined,
  { maxFeePerGas, l1Fee }: GasPrice,
): Promise<bigint> {
  const [open] = await db
    .select({ payments: count(), gas: sql<string>`coalesce(sum(${payments.settlementGas}), 0)::text` })
    .from(payments)
    .where(where)
  return BigInt(open?.gas ?? 0) * maxFeePerGas + BigInt(open?.payments ?? 0) * l1Fee
}

import type { Address, Network } from '@upfront/protocol'
import { and, count, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Database, Transaction } from './ledger.js'
import { gas, payments } from './schema.js'

export const HOUR_MILLISECONDS = 3_600_000
export const DAY_MILLISECONDS = 24 * HOUR_MILLISECONDS

/** Wei that mined transactions have cost for so long: all of a network, or those of a signer, or those that settle a seller's payments. */
export async function sumSpentGas(
  db: Database | Transaction,
  { network, signer, seller }: { network: Network; signer?: Address; seller?: string },
  milliseconds = DAY_MILLISECONDS,
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

/** Wei: of one gas, and what an OP-stack chain asks for publishing a settlement. */
export interface GasPrice {
  maxFeePerGas: bigint
  l1Fee: bigint
}

/** Wei that the settlements of the payments that `where` says may cost at this price. */
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

import type { Network } from '@upfront/protocol'
import { and, count, eq, gt, sql } from 'drizzle-orm'
import type { Chain } from '../chain/chain.js'
import { isInState } from '../ledger/is-in-state.js'
import type { Database, Transaction } from '../ledger/ledger.js'
import { gas, payments, type SellerAccount, sellerAccounts } from '../ledger/schema.js'

const DAY_MILLISECONDS = 24 * 3_600_000

/** Wei: of one gas, and what an OP-stack chain asks for publishing a settlement. */
export interface GasPrice {
  maxFeePerGas: bigint
  l1Fee: bigint
}

/** Throws `NodeFault`. */
export async function readGasPrice(chain: Chain): Promise<GasPrice> {
  const [{ maxFeePerGas }, l1Fee] = await Promise.all([chain.fees(), chain.l1Fee()])
  return { maxFeePerGas, l1Fee }
}

/**
 * Whether a seller's settlements of 24 hours on one network, with what those that are not mined yet may cost at the price of now, and `further`
 * gas, are beyond its budget.
 */
export async function isSellerGasSpent(
  db: Database | Transaction,
  { id, dailyGas }: Pick<SellerAccount, 'id' | 'dailyGas'>,
  network: Network,
  { maxFeePerGas, l1Fee }: GasPrice,
  further = 0n,
): Promise<boolean> {
  if (dailyGas === null) return false
  const spent = await readSpent(db, id, network)
  const [open] = await db
    .select({ payments: count(), gas: sql<string>`coalesce(sum(${payments.settlementGas}), 0)::text` })
    .from(payments)
    .where(and(eq(payments.seller, id), eq(payments.network, network), isInState('charging', 'submitted')))
  return spent + (BigInt(open?.gas ?? 0) + further) * maxFeePerGas + BigInt(open?.payments ?? 0) * l1Fee > dailyGas
}

/** Until the end of the database transaction no other charge of the seller is counted. */
export async function lockSeller(tx: Transaction, id: string): Promise<void> {
  await tx.select({ id: sellerAccounts.id }).from(sellerAccounts).where(eq(sellerAccounts.id, id)).for('update')
}

async function readSpent(db: Database | Transaction, seller: string, network: Network): Promise<bigint> {
  const since = new Date(Date.now() - DAY_MILLISECONDS)
  const [spent] = await db
    .select({ fee: sql<string>`coalesce(sum(${gas.fee}), 0)::text` })
    .from(gas)
    .innerJoin(payments, eq(payments.id, gas.paymentId))
    .where(and(eq(payments.seller, seller), eq(gas.network, network), gt(gas.recordedAt, since)))
  return BigInt(spent?.fee ?? 0)
}

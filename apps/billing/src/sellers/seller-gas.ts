import type { Network } from '@upfront/protocol'
import { and, eq } from 'drizzle-orm'
import { type GasPrice, sumPromisedGas, sumSpentGas } from '../ledger/gas-sums.js'
import { isInState } from '../ledger/is-in-state.js'
import type { Database, Transaction } from '../ledger/ledger.js'
import { payments, type SellerAccount, sellerAccounts } from '../ledger/schema.js'

/**
 * Whether a seller exceeds its gas budget on a network: its settlements of the last 24 hours, plus those not mined yet at the current
 * price, plus `further` gas.
 */
export async function isSellerGasSpent(
  db: Database | Transaction,
  { id, dailyGas }: Pick<SellerAccount, 'id' | 'dailyGas'>,
  network: Network,
  price: GasPrice,
  further = 0n,
): Promise<boolean> {
  if (dailyGas === null) return false
  const spent = await sumSpentGas(db, { network, seller: id })
  const isOpen = and(eq(payments.seller, id), eq(payments.network, network), isInState('charging', 'submitted'))
  return spent + (await sumPromisedGas(db, isOpen, price)) + further * price.maxFeePerGas > dailyGas
}

/**
 * Serializes the seller's charges until the database transaction ends. Uses a lock that does not conflict with key-share locks: other
 * transactions hold those while they write payments of the seller, and waiting for them could deadlock.
 */
export async function lockSeller(tx: Transaction, id: string): Promise<void> {
  await tx.select({ id: sellerAccounts.id }).from(sellerAccounts).where(eq(sellerAccounts.id, id)).for('no key update')
}

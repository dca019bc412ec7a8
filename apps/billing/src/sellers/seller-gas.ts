import type { Network } from '@upfront/protocol'
import { and, eq } from 'drizzle-orm'
import { type GasPrice, sumPromisedGas, sumSpentGas } from '../ledger/gas-sums.js'
import { isInState } from '../ledger/is-in-state.js'
import type { Database, Transaction } from '../ledger/ledger.js'
import { payments, type SellerAccount, sellerAccounts } from '../ledger/schema.js'

/**
 * Whether a seller's settlements of 24 hours on one network, with what those that are not mined yet may cost at the price of now, and `further`
 * gas, are beyond its budget.
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
 * Until the end of the database transaction no other charge of the seller is counted. Other transactions that have written a payment of the
 * seller hold a key share of its row: a lock that waited for those could wait for ever.
 */
export async function lockSeller(tx: Transaction, id: string): Promise<void> {
  await tx.select({ id: sellerAccounts.id }).from(sellerAccounts).where(eq(sellerAccounts.id, id)).for('no key update')
}

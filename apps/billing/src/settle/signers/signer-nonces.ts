import type { Address } from '@upfront/protocol'
import type { Logger } from '@upfront/service'
import { and, asc, desc, eq, gt, sql } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { HOUR_MS } from '../../ledger/gas-sums.js'
import type { Database } from '../../ledger/ledger.js'
import { type SignedTransactionRow, signedTransactions, signers } from '../../ledger/schema.js'
import { markDisplaced, readPaymentIds, storeTransaction } from '../../ledger/signed-transactions.js'
import { broadcast } from '../submit/broadcasts.js'
import { recordCost } from './record-cost.js'
import { raisedFees, signTransaction } from './sign.js'

/** A missing nonce blocks all later ones. After this long it is considered lost. */
const GAP_MS = 15_000
/** After this long without a transaction, the chain's nonce overrides the ledger's. */
const QUIET_MS = 60_000
/** A transaction whose nonce is used and that has no receipt for this long is considered replaced. */
const GIVEN_UP_MS = 600_000
/** Receipts read per signer and round. */
const MAX_RECEIPTS = 100
/** Gas for an empty transfer, even if it runs the account's delegated code (EIP-7702). */
const FILLER_GAS = 30_000n

/**
 * Registers a signer in the ledger and repairs its nonces: adopts the chain's nonce if the ledger is behind (or idle), assigns a lost nonce
 * again, and fills nonces whose payment ended otherwise. Returns the number of mined transactions and the next nonce. Throws `NodeFault`.
 */
export async function repairNonces(
  db: Database,
  chain: Chain,
  signer: Address,
  logger: Logger,
): Promise<{ mined: number; next: number }> {
  const count = await chain.latest.transactionCount(signer)
  const ofSigner = and(eq(signers.network, chain.network), eq(signers.address, signer))
  const { orphans, past, next } = await db.transaction(async (tx) => {
    const now = new Date()
    await tx
      .insert(signers)
      .values({ network: chain.network, address: signer, nextNonce: count, seenAt: now })
      .onConflictDoNothing()
    const [lease] = await tx.select().from(signers).where(ofSigner).for('no key update')
    const ofSignerTransactions = and(
      eq(signedTransactions.network, chain.network),
      eq(signedTransactions.signer, signer),
    )
    const open = await tx
      .select({ transaction: signedTransactions, isNeeded: isNeeded(count) })
      .from(signedTransactions)
      .where(and(ofSignerTransactions, sql`${signedTransactions.status} = 'open'`))
      .orderBy(asc(signedTransactions.nonce))
    // Transactions of open payments are recorded with their payment.
    const over = open.filter(({ transaction, isNeeded }) => transaction.nonce < count && !isNeeded)
    const waiting = open.filter((entry) => entry.transaction.nonce >= count).map(({ transaction }) => transaction)
    const [latest] = await tx
      .select({ signedAt: signedTransactions.signedAt })
      .from(signedTransactions)
      .where(ofSignerTransactions)
      .orderBy(desc(signedTransactions.signedAt))
      .limit(1)
    const quiet = latest === undefined || Date.now() - latest.signedAt.getTime() > QUIET_MS
    const first = waiting[0]
    const gap = first !== undefined && first.nonce > count && isOlderThan(waiting, GAP_MS)
    const lost = gap ? waiting : []
    const behind = (lease?.nextNonce ?? 0) < count
    const nextNonce = behind || gap || (waiting.length === 0 && quiet) ? count : (lease?.nextNonce ?? count)
    await tx.update(signers).set({ nextNonce, seenAt: now }).where(ofSigner)
    await markDisplaced(tx, lost)
    if (gap)
      logger.warn({ network: chain.network, signer, nonce: count }, 'a nonce was lost; it will be assigned again')
    const past = over.map(({ transaction }) => transaction)
    if (gap) return { orphans: [], past, next: nextNonce }
    const needed = new Set(open.filter((entry) => entry.isNeeded).map(({ transaction }) => transaction.nonce))
    return { orphans: newestByNonce(waiting).filter(({ nonce }) => !needed.has(nonce)), past, next: nextNonce }
  })
  for (const orphan of orphans) await fillNonce(db, chain, orphan, logger)
  await recordPast(db, chain, past.slice(0, MAX_RECEIPTS))
  return { mined: count, next }
}

/** Whether the transaction settles an open payment, or one whose settlement a reorganisation has just undone. */
function isNeeded(count: number) {
  return sql<boolean>`exists (select from settlement_items as item join payments on payments.id = item.payment_id
    where item.hash = signed_transactions.hash and (payments.state in ('charging', 'submitted')
      or payments.state = 'settled' and payments.transaction = item.hash and signed_transactions.nonce >= ${count}))`
}

/**
 * Records the cost of mined transactions that belong to no open payment. Once one transaction of a nonce has a receipt, the others count as
 * displaced.
 */
async function recordPast(db: Database, chain: Chain, past: readonly SignedTransactionRow[]): Promise<void> {
  const missing = await recordMined(db, chain, past)
  const mined = new Set(past.filter((one) => !missing.includes(one)).map(({ nonce }) => nonce))
  const isOver = (one: SignedTransactionRow) => mined.has(one.nonce) || isOlderThan([one], GIVEN_UP_MS)
  await markDisplaced(db, missing.filter(isOver))
}

/**
 * Records the cost of displaced transactions of the last hour that were mined after all, because a reorganisation or another node brought
 * them back. Throws `NodeFault`.
 */
export async function recordReturned(db: Database, chain: Chain, signer: Address): Promise<void> {
  const { network, signer: sender, status, signedAt } = signedTransactions
  const displaced = await db
    .select()
    .from(signedTransactions)
    .where(
      and(
        eq(network, chain.network),
        eq(sender, signer),
        eq(status, 'displaced'),
        gt(signedAt, new Date(Date.now() - HOUR_MS)),
      ),
    )
    .orderBy(desc(signedAt))
    .limit(MAX_RECEIPTS)
  await recordMined(db, chain, displaced)
}

/** Records the cost of those that have a receipt, and returns the others. Throws `NodeFault`. */
async function recordMined(
  db: Database,
  chain: Chain,
  transactions: readonly SignedTransactionRow[],
): Promise<SignedTransactionRow[]> {
  const missing: SignedTransactionRow[] = []
  for (const transaction of transactions) {
    const receipt = await chain.receipt(transaction.hash)
    if (receipt === null) missing.push(transaction)
    else await recordCost(db, receipt, transaction)
  }
  return missing
}

function isOlderThan(transactions: readonly SignedTransactionRow[], milliseconds: number): boolean {
  return transactions.every(({ signedAt }) => Date.now() - signedAt.getTime() > milliseconds)
}

function newestByNonce(transactions: readonly SignedTransactionRow[]): SignedTransactionRow[] {
  const newest = new Map<number, SignedTransactionRow>()
  for (const transaction of transactions) {
    const known = newest.get(transaction.nonce)
    if (known === undefined || known.signedAt < transaction.signedAt) newest.set(transaction.nonce, transaction)
  }
  return [...newest.values()]
}

/** Replaces an unwanted transaction by an empty one, so that later nonces can be mined. */
async function fillNonce(db: Database, chain: Chain, orphan: SignedTransactionRow, logger: Logger): Promise<void> {
  const isYoung = Date.now() - orphan.signedAt.getTime() < GAP_MS
  if (isYoung && (await readPaymentIds(db, orphan.hash)).length === 0) return broadcast(chain, orphan, logger)
  const fees = raisedFees(orphan, await chain.fees(), chain.maxFeePerGas)
  if (fees === null) return broadcast(chain, orphan, logger)
  const { signer } = orphan
  const filler = { signer, to: signer, data: '0x' as const, gas: FILLER_GAS }
  const transaction = await signTransaction(chain, filler, orphan.nonce, fees)
  await db.transaction((tx) => storeTransaction(tx, transaction, []))
  logger.info(
    { network: chain.network, signer, nonce: orphan.nonce, transaction: transaction.hash },
    'replacing an unneeded transaction by an empty one',
  )
  await broadcast(chain, transaction, logger)
}

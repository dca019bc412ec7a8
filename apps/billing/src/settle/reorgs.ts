import type { Hash } from '@upfront/protocol'
import type { Logger } from '@upfront/service'
import { and, desc, eq, gte, isNotNull, isNull, or } from 'drizzle-orm'
import type { Chain } from '../chain/chain.js'
import type { Database } from '../ledger/ledger.js'
import { type PaymentRow, payments, signedTransactions } from '../ledger/schema.js'
import { broadcast } from './broadcast.js'
import { concludeReorged, recordMined } from './conclude.js'
import type { SigningQueue } from './signing-queue.js'
import { submit } from './submit.js'

/** A settlement with so many blocks on top is not looked after any more. */
const WATCHED_BLOCKS = 64n

/**
 * Looks after settlements that had their confirmations: one whose block the chain has dropped is sent again as it was
 * signed, or anew where its nonce went to another. It stays `settled`; its events tell. Answers how many
 * were dropped since the last look. Throws `NodeFault`.
 */
export async function mendReorgs(db: Database, chain: Chain, signing: SigningQueue, logger: Logger): Promise<number> {
  const reorged = await findReorged(db, chain)
  for (const payment of reorged) {
    logger.warn({ paymentId: payment.id, network: chain.network }, 'a settlement fell out of the chain')
    await settleAgain(db, chain, payment, signing, logger)
  }
  return reorged.filter(({ blockNumber }) => blockNumber !== null).length
}

/** Settled payments whose block is not the chain's. */
async function findReorged(db: Database, chain: Chain): Promise<PaymentRow[]> {
  const settled = and(eq(payments.network, chain.network), eq(payments.state, 'settled'))
  const blocks = await db
    .selectDistinct({ number: payments.blockNumber, hash: payments.blockHash })
    .from(payments)
    .where(and(settled, isNotNull(payments.blockHash), gte(payments.blockNumber, chain.head.number - WATCHED_BLOCKS)))
    .orderBy(desc(payments.blockNumber))
  const gone: { number: bigint; hash: Hash }[] = []
  for (const { number, hash } of blocks) {
    if (number === null || hash === null) continue
    // What the chain's own block stands on is the chain's.
    if ((await chain.blockHash(number)) === hash) break
    gone.push({ number, hash })
  }
  const inGone = gone.map(({ number, hash }) => and(eq(payments.blockNumber, number), eq(payments.blockHash, hash)))
  const reorged = or(isNull(payments.blockNumber), ...inGone)
  return db.select().from(payments).where(and(settled, reorged)).limit(500)
}

async function settleAgain(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  signing: SigningQueue,
  logger: Logger,
): Promise<void> {
  const { transaction: hash } = payment
  const receipt = hash === null ? null : await chain.receipt(hash)
  if (receipt !== null) {
    if (receipt.succeeded) await recordMined(db, payment, receipt)
    return
  }
  const reorged = payment.blockNumber === null ? payment : await concludeReorged(db, payment)
  if (reorged === null || hash === null || !chain.signers.has(payment.facilitator)) return
  const [stored] = await db.select().from(signedTransactions).where(eq(signedTransactions.hash, hash))
  if (stored !== undefined && stored.nonce >= (await chain.transactionCount(stored.signer, 'latest'))) {
    return broadcast(chain, stored, logger)
  }
  const again = await submit(signing, chain, reorged)
  if (again.outcome === 'signed') return broadcast(chain, again.transaction, logger)
  logger.error({ paymentId: payment.id, network: chain.network, outcome: again.outcome }, 'it can not be settled again')
}

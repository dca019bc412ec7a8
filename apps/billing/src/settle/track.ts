import { RefusalReason } from '@upfront/protocol'
import { desc, eq, inArray } from 'drizzle-orm'
import type { Chain, Fees, Receipt } from '../chain/chain.js'
import { encodeSettlement, UPTO_PROXY } from '../chain/settlement-call.js'
import { changePayment } from '../ledger/change-payment.js'
import type { Database } from '../ledger/ledger.js'
import { type PaymentRow, type SignedTransactionRow, signedTransactions } from '../ledger/schema.js'
import { concludeFailed, concludeMined, concludeReorged } from './conclude.js'
import { findSettlement } from './find-settlement.js'
import { raisedFees, signAndStore } from './sign.js'
import { explainRevert } from './submit.js'

/** What a process remembers of a payment that it drives. Losing it costs time, nothing else. */
export interface Watch {
  /** Hashes that this process has broadcast, and when (milliseconds). */
  broadcastAt: Map<string, number>
  /** Since when all its transactions look unminable, in milliseconds. */
  displacedSince: number | null
  /** How often its settlement reverted for no visible reason. */
  reverts: number
}

export type TrackResult =
  | { outcome: 'waiting'; payment: PaymentRow }
  | { outcome: 'final'; payment: PaymentRow }
  | { outcome: 'moved on' }
  | { outcome: 'broadcast'; transaction: SignedTransactionRow; bumped: boolean }
  /** No transaction of it can be mined any more, and its nonce is unused: sign it anew. */
  | { outcome: 'resubmit' }

const REBROADCAST_MILLISECONDS = 4_000
/** Nodes behind one address may disagree for this long about what was mined. */
const DISAGREEMENT_MILLISECONDS = 2_500
export const MAXIMUM_REVERTS = 3

/** Looks a submitted payment up on chain and does the next step towards its end. Throws `NodeFault`. */
export async function track(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  watch: Watch,
  feeBumpMilliseconds: number,
): Promise<TrackResult> {
  const transactions = await readTransactions(db, payment)
  const receipt = await findReceipt(chain, transactions)
  if (receipt !== null) return mined(db, chain, payment, receipt, watch)
  if (payment.blockNumber !== null) {
    watch.broadcastAt.clear()
    const reorged = await concludeReorged(db, payment)
    return reorged === null ? { outcome: 'moved on' } : { outcome: 'waiting', payment: reorged }
  }
  if (!chain.signers.has(payment.facilitator)) return { outcome: 'waiting', payment }
  const count = await chain.transactionCount(payment.facilitator, 'latest')
  const newest = transactions.find(({ status, nonce }) => status === 'open' && nonce >= count)
  if (newest === undefined) return displaced(db, chain, payment, transactions, watch)
  watch.displacedSince = null
  if (payment.deadline < (await chain.head.current()).timestamp) {
    if (await chain.isPermit2NonceUsed(payment.payer, payment.nonce)) return { outcome: 'waiting', payment }
    return final(await concludeFailed(db, payment, RefusalReason.deadlineExpired, null))
  }
  if (newest.nonce === count && Date.now() - newest.signedAt.getTime() > feeBumpMilliseconds) {
    const fees = raisedFees(newest, await chain.fees())
    if (fees !== null) {
      const transaction = await bump(db, chain, payment, newest, fees)
      return transaction === null ? { outcome: 'moved on' } : { outcome: 'broadcast', transaction, bumped: true }
    }
  }
  const sentAt = watch.broadcastAt.get(newest.hash) ?? 0
  if (Date.now() - sentAt < REBROADCAST_MILLISECONDS) return { outcome: 'waiting', payment }
  return { outcome: 'broadcast', transaction: newest, bumped: false }
}

/** Newest first. */
function readTransactions(db: Database, payment: PaymentRow): Promise<SignedTransactionRow[]> {
  return db
    .select()
    .from(signedTransactions)
    .where(eq(signedTransactions.paymentId, payment.id))
    .orderBy(desc(signedTransactions.signedAt))
}

async function findReceipt(chain: Chain, transactions: readonly SignedTransactionRow[]): Promise<Receipt | null> {
  let reverted: Receipt | null = null
  for (const { hash } of transactions) {
    const receipt = await chain.receipt(hash)
    if (receipt?.succeeded) return receipt
    reverted ??= receipt
  }
  // A revert counts while it is the newest word; an older one was resubmitted.
  return reverted?.hash === transactions[0]?.hash ? reverted : null
}

/** What follows from the receipt of a transaction that succeeded; `null`: there is none. Throws `NodeFault`. */
export async function trackReceipt(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  transaction: SignedTransactionRow,
  watch: Watch,
): Promise<TrackResult | null> {
  const receipt = await chain.receipt(transaction.hash)
  return receipt?.succeeded ? mined(db, chain, payment, receipt, watch) : null
}

async function mined(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  receipt: Receipt,
  watch: Watch,
): Promise<TrackResult> {
  if (receipt.succeeded) {
    const changed = await concludeMined(db, chain, payment, receipt)
    if (changed === null) return { outcome: 'moved on' }
    return { outcome: changed.state === 'submitted' ? 'waiting' : 'final', payment: changed }
  }
  if (chain.head.number - receipt.blockNumber + 1n < BigInt(chain.confirmations)) return { outcome: 'waiting', payment }
  const why = await explainRevert(chain, payment)
  if (why.outcome === 'nonce used') return spentElsewhere(db, chain, payment, receipt, watch)
  if (why.outcome === 'impossible') return final(await concludeFailed(db, payment, why.reason, receipt))
  watch.reverts += 1
  if (watch.reverts >= MAXIMUM_REVERTS) {
    return final(await concludeFailed(db, payment, RefusalReason.transactionFailed, receipt))
  }
  return { outcome: 'resubmit' }
}

/** The nonces of all its transactions went to others. Believed when it stays so. */
async function displaced(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  transactions: readonly SignedTransactionRow[],
  watch: Watch,
): Promise<TrackResult> {
  watch.displacedSince ??= Date.now()
  if (Date.now() - watch.displacedSince < DISAGREEMENT_MILLISECONDS) return { outcome: 'waiting', payment }
  if (await chain.isPermit2NonceUsed(payment.payer, payment.nonce)) {
    return spentElsewhere(db, chain, payment, null, watch)
  }
  watch.displacedSince = null
  const hashes = transactions.filter(({ status }) => status === 'open').map(({ hash }) => hash)
  if (hashes.length > 0) {
    await db.update(signedTransactions).set({ status: 'displaced' }).where(inArray(signedTransactions.hash, hashes))
  }
  return { outcome: 'resubmit' }
}

/** The Permit2 nonce is burnt, and no stored transaction did it: by another process with our keys, or by the payer. */
export async function spentElsewhere(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  reverted: Receipt | null,
  watch: Watch,
): Promise<TrackResult> {
  const hash = await findSettlement(chain, payment)
  const receipt = hash === null ? null : await chain.receipt(hash)
  if (receipt?.succeeded) return mined(db, chain, payment, receipt, watch)
  // Believed when it stays so: a reorg or a node that lags may still bring a receipt of ours.
  watch.displacedSince ??= Date.now()
  if (Date.now() - watch.displacedSince < DISAGREEMENT_MILLISECONDS) return { outcome: 'waiting', payment }
  return final(await concludeFailed(db, payment, RefusalReason.nonceInvalidated, reverted))
}

/** Signs a stuck transaction again, same nonce, higher fee. `null`: the payment moved on. */
async function bump(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  stuck: SignedTransactionRow,
  fees: Fees,
): Promise<SignedTransactionRow | null> {
  const data = encodeSettlement(payment, payment.charge ?? 0n)
  return db.transaction(async (tx) => {
    const [locked] = await tx
      .select()
      .from(signedTransactions)
      .where(eq(signedTransactions.paymentId, payment.id))
      .orderBy(desc(signedTransactions.signedAt))
      .limit(1)
      .for('update')
    if (locked?.hash !== stuck.hash) return null
    const intent = { paymentId: payment.id, signer: stuck.signer, to: UPTO_PROXY, data, gas: stuck.gas }
    const transaction = await signAndStore(tx, chain, intent, stuck.nonce, fees)
    const changed = await changePayment(tx, payment, {
      kind: 'fee raised',
      set: { transaction: transaction.hash },
      data: { transaction: transaction.hash, nonce: stuck.nonce, maxFeePerGas: fees.maxFeePerGas.toString() },
    })
    if (changed === null) throw new Error(`payment ${payment.id} moved on while its fee was raised`)
    return transaction
  })
}

function final(payment: PaymentRow | null): TrackResult {
  return payment === null ? { outcome: 'moved on' } : { outcome: 'final', payment }
}

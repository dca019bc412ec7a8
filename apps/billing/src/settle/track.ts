import { RefusalReason } from '@upfront/protocol'
import { desc, eq, inArray } from 'drizzle-orm'
import type { Chain } from '../chain/chain.js'
import type { Fees } from '../chain/gas-terms.js'
import type { Receipt } from '../chain/receipt.js'
import { encodeSettlement, UPTO_PROXY } from '../chain/settlement-call.js'
import { changePayment } from '../ledger/change-payment.js'
import type { Database } from '../ledger/ledger.js'
import { recordGas } from '../ledger/record-receipt.js'
import { refusePayer } from '../ledger/refused-payers.js'
import { type PaymentRow, payments, type SignedTransactionRow, signedTransactions } from '../ledger/schema.js'
import { concludeFailed, concludeSettled, confirmationsOf } from './conclude.js'
import { findTransfer } from './find-transfer.js'
import { DEPTH_BLOCKS, judge, type Verdict } from './judge.js'
import { raisedFees, signAndStore } from './sign.js'

export type TrackResult =
  | { outcome: 'waiting'; payment: PaymentRow }
  | { outcome: 'final'; payment: PaymentRow }
  | { outcome: 'moved on' }
  | { outcome: 'broadcast'; transaction: SignedTransactionRow; bumped: boolean }
  /** No transaction of it can be mined any more, and its nonce is unused: sign it anew. */
  | { outcome: 'resubmit' }

/** A settlement that reverted once more than this, though it should not have, is given up. One of a contract gets none. */
const MOST_RETRIES = 1

/** Looks a submitted payment up on chain and does the next step towards its end. Throws `NodeFault`. */
export async function track(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  feeBumpMilliseconds: number,
): Promise<TrackResult> {
  const transactions = await readTransactions(db, payment)
  const receipt = await findReceipt(chain, transactions)
  if (receipt?.succeeded) return mined(db, chain, payment, receipt)
  // Mined before, and its block may be gone: `reopenReorged` looks after that.
  if (payment.blockNumber !== null) return { outcome: 'waiting', payment }
  if (receipt !== null) return reverted(db, chain, payment, transactions, receipt)
  if (payment.deadline < (await chain.head.current()).timestamp) return resolveDoubt(db, chain, payment)
  if (!chain.signers.has(payment.facilitator)) return { outcome: 'waiting', payment }
  const count = await chain.transactionCount(payment.facilitator, 'latest')
  const newest = transactions.find(({ status, nonce }) => status === 'open' && nonce >= count)
  if (newest === undefined) return displaced(db, chain, payment, transactions)
  if (newest.nonce === count && Date.now() - newest.signedAt.getTime() > feeBumpMilliseconds) {
    const fees = raisedFees(newest, await chain.fees(), chain.maxFeePerGas)
    if (fees !== null) {
      const transaction = await bump(db, chain, payment, newest, fees)
      return transaction === null ? { outcome: 'moved on' } : { outcome: 'broadcast', transaction, bumped: true }
    }
  }
  return { outcome: 'broadcast', transaction: newest, bumped: false }
}

/** Newest first. */
export function readTransactions(db: Database, payment: Pick<PaymentRow, 'id'>): Promise<SignedTransactionRow[]> {
  return db
    .select()
    .from(signedTransactions)
    .where(eq(signedTransactions.paymentId, payment.id))
    .orderBy(desc(signedTransactions.signedAt))
}

/** Of the transaction that succeeded; else of the newest where that reverted, as an older one was followed by it. */
export async function findReceipt(
  chain: Chain,
  transactions: readonly SignedTransactionRow[],
): Promise<Receipt | null> {
  let reverted: Receipt | null = null
  for (const { hash } of transactions) {
    const receipt = await chain.receipt(hash)
    if (receipt?.succeeded) return receipt
    reverted ??= receipt
  }
  return reverted?.hash === transactions[0]?.hash ? reverted : null
}

/** What follows from its newest transaction's receipt, where that succeeded; `null`: there is none. Throws `NodeFault`. */
export async function trackReceipt(db: Database, chain: Chain, payment: PaymentRow): Promise<TrackResult | null> {
  const receipt = payment.transaction === null ? null : await chain.receipt(payment.transaction)
  return receipt?.succeeded ? mined(db, chain, payment, receipt) : null
}

/** A transaction that settles the payment has succeeded. What counts is the transfer in it. */
async function mined(db: Database, chain: Chain, payment: PaymentRow, receipt: Receipt): Promise<TrackResult> {
  const transfer = findTransfer(payment, receipt.logs)
  if (transfer?.amount === payment.charge) {
    const changed = await concludeSettled(db, chain, payment, receipt, transfer)
    if (changed === null) return { outcome: 'moved on' }
    return { outcome: changed.state === 'submitted' ? 'waiting' : 'final', payment: changed }
  }
  // The nonce was spent on another amount, or the token moves less than it is told to.
  if (confirmationsOf(chain, receipt) <= DEPTH_BLOCKS) return { outcome: 'waiting', payment }
  if ((await chain.blockHash(receipt.blockNumber)) !== receipt.blockHash) return { outcome: 'waiting', payment }
  const block = { number: receipt.blockNumber, hash: receipt.blockHash }
  return final(await concludeFailed(db, payment, RefusalReason.transferMismatch, block, receipt, transfer))
}

async function reverted(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  transactions: readonly SignedTransactionRow[],
  receipt: Receipt,
): Promise<TrackResult> {
  const verdict = await judge(chain, payment, hashesOf(transactions), receipt.blockNumber)
  if (verdict.kind === 'settled' || verdict.kind === 'unclear') return follow(db, chain, payment, verdict, receipt)
  // Its code ran at the signer's expense, and said no where the simulation had said yes.
  const isContract = (await chain.code(payment.payer)) !== '0x'
  const refusal = isContract ? [refusePayer(payment, receipt)] : []
  const earlier = transactions.filter(({ status, hash }) => status === 'mined' && hash !== receipt.hash).length
  if (verdict.kind === 'impossible' || isContract || earlier >= MOST_RETRIES) {
    const reason = verdict.kind === 'impossible' ? verdict.reason : RefusalReason.transactionFailed
    return final(await concludeFailed(db, payment, reason, verdict.block, receipt, null, refusal))
  }
  await db.transaction(async (tx) => {
    await tx.update(signedTransactions).set({ status: 'mined' }).where(eq(signedTransactions.hash, receipt.hash))
    await tx.execute(recordGas(receipt, { network: chain.network, signer: payment.facilitator, paymentId: payment.id }))
  })
  return { outcome: 'resubmit' }
}

/** The nonces of all its transactions are used up, and there is no receipt: by others, or the node has none yet. */
async function displaced(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  transactions: readonly SignedTransactionRow[],
): Promise<TrackResult> {
  const verdict = await judge(chain, payment, hashesOf(transactions), 0n)
  if (verdict.kind !== 'possible') return follow(db, chain, payment, verdict, null)
  const open = transactions.filter(({ status }) => status === 'open')
  // Used up in a block above the one that was judged: they may be mined there.
  const count = await verdict.block.transactionCount(payment.facilitator)
  if (open.some(({ nonce }) => nonce >= count)) return { outcome: 'waiting', payment }
  const hashes = open.map(({ hash }) => hash)
  if (hashes.length > 0) {
    await db.update(signedTransactions).set({ status: 'displaced' }).where(inArray(signedTransactions.hash, hashes))
  }
  return { outcome: 'resubmit' }
}

/** A settlement that would revert now, or is late. It is given up by the chain's facts alone. Throws `NodeFault`. */
export async function resolveDoubt(db: Database, chain: Chain, payment: PaymentRow): Promise<TrackResult> {
  const doubtfulFrom = payment.doubtfulFrom ?? chain.head.number
  if (payment.doubtfulFrom === null) await db.update(payments).set({ doubtfulFrom }).where(eq(payments.id, payment.id))
  const transactions = await readTransactions(db, payment)
  const verdict = await judge(chain, payment, hashesOf(transactions), doubtfulFrom)
  return follow(db, chain, payment, verdict, await findReceipt(chain, transactions))
}

async function follow(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  verdict: Verdict,
  receipt: Receipt | null,
): Promise<TrackResult> {
  if (verdict.kind === 'settled') return mined(db, chain, payment, verdict.receipt)
  if (verdict.kind !== 'impossible') return { outcome: 'waiting', payment }
  return final(await concludeFailed(db, payment, verdict.reason, verdict.block, receipt))
}

function hashesOf(transactions: readonly SignedTransactionRow[]) {
  return new Set(transactions.map(({ hash }) => hash))
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

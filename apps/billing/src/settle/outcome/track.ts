import { type Address, RefusalReason } from '@upfront/protocol'
import { parseTransaction } from 'viem'
import type { Chain } from '../../chain/chain.js'
import type { Receipt } from '../../chain/receipt.js'
import type { Fees } from '../../chain/state.js'
import { changePayment, lockPayments } from '../../ledger/change-payment.js'
import type { Database } from '../../ledger/ledger.js'
import { isClaimed } from '../../ledger/record-receipt.js'
import type { PaymentRow, SignedTransactionRow } from '../../ledger/schema.js'
import { markDisplaced, readPaymentIds, readTransactions, storeTransaction } from '../../ledger/signed-transactions.js'
import { recordCost } from '../signers/record-cost.js'
import { raisedFees, signTransaction } from '../signers/sign.js'
import { concludeFailed, concludeSettled, confirmationsOf } from './conclude.js'
import { findReceipt, findTransfer, readReceipt } from './find-receipt.js'
import { DEPTH_BLOCKS, judge, noteDoubt, readDoubt, type Verdict } from './judge.js'

export type TrackResult =
  | { outcome: 'waiting'; payment: PaymentRow }
  | { outcome: 'final'; payment: PaymentRow }
  | { outcome: 'moved on' }
  | { outcome: 'broadcast'; transaction: SignedTransactionRow; bumped: boolean }
  /** None of its transactions can be mined any more and its nonce is unused: it must be signed again. */
  | { outcome: 'resubmit' }

/** Retries of a settlement that reverted unexpectedly. Payers with code get none. */
const MAX_RETRIES = 1

/** Looks up a submitted payment on chain and takes the next step. Throws `NodeFault`. */
export async function track(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  feeBumpMilliseconds: number,
): Promise<TrackResult> {
  const transactions = await readTransactions(db, payment)
  const receipt = await findReceipt(chain, transactions)
  if (receipt?.succeeded) return mined(db, chain, payment, receipt)
  // Was mined before; its block may be gone, which `followNewest` handles.
  if (payment.blockNumber !== null) return { outcome: 'waiting', payment }
  if (receipt !== null) return reverted(db, chain, payment, transactions, receipt)
  if (payment.deadline < (await chain.head.current()).timestamp) return resolveDoubt(db, chain, payment)
  if (payment.doubt !== null) {
    const { doubt, blockNumber } = await readDoubt(chain, payment)
    if (doubt !== null) return resolveDoubt(db, chain, payment)
    const cleared = await noteDoubt(db, payment, null, blockNumber)
    if (cleared === null) return { outcome: 'moved on' }
  }
  if (!chain.signers.has(payment.facilitator)) return { outcome: 'waiting', payment }
  const count = await chain.latest.transactionCount(payment.facilitator)
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

/**
 * Handles the receipt of the current transaction: mined, or reverted, which makes the payment doubtful until it is judged. `null` if there
 * is nothing to do. Throws `NodeFault`.
 */
export async function trackReceipt(db: Database, chain: Chain, payment: PaymentRow): Promise<TrackResult | null> {
  const receipt = await readReceipt(db, chain, payment)
  if (receipt?.succeeded) return mined(db, chain, payment, receipt)
  if (!receipt?.tried || payment.doubt !== null || payment.blockNumber !== null) return null
  return waitingIn(await noteDoubt(db, payment, RefusalReason.transactionFailed, receipt.blockNumber))
}

/** Checks the newest block for a doubt before a seller is told that the payment is pending. Throws `NodeFault`. */
export async function examine(db: Database, chain: Chain, payment: PaymentRow): Promise<TrackResult> {
  const { doubt, blockNumber } = await readDoubt(chain, payment)
  if (doubt === null) return { outcome: 'waiting', payment }
  // The obstacle may be the payment's own settlement.
  const receipt = await readReceipt(db, chain, payment)
  if (receipt?.succeeded) return mined(db, chain, payment, receipt)
  return waitingIn(await noteDoubt(db, payment, doubt, blockNumber))
}

function waitingIn(payment: PaymentRow | null): TrackResult {
  return payment === null ? { outcome: 'moved on' } : { outcome: 'waiting', payment }
}

/** Handles a successful transaction. The transfer in it decides. */
async function mined(db: Database, chain: Chain, payment: PaymentRow, receipt: Receipt): Promise<TrackResult> {
  const found = findTransfer(payment, receipt.logs)
  if (found !== null && found.amount === payment.charge) {
    const changed = await concludeSettled(db, chain, payment, receipt, found)
    if (changed !== null) return { outcome: changed.state === 'submitted' ? 'waiting' : 'final', payment: changed }
    if (!(await isClaimed(db, payment, receipt, found))) return { outcome: 'moved on' }
  }
  // The nonce was spent on another amount, the transfer pays another payment, or the token moved a wrong amount.
  if (confirmationsOf(chain, receipt) <= DEPTH_BLOCKS) return { outcome: 'waiting', payment }
  if ((await chain.header(receipt.blockNumber))?.hash !== receipt.blockHash) return { outcome: 'waiting', payment }
  const block = { number: receipt.blockNumber, hash: receipt.blockHash }
  const transfer = found === null || (await isClaimed(db, payment, receipt, found)) ? null : found
  return final(await concludeFailed(db, payment, RefusalReason.transferMismatch, block, receipt, transfer))
}

async function reverted(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  transactions: readonly SignedTransactionRow[],
  receipt: Receipt,
): Promise<TrackResult> {
  const noted = receipt.tried
    ? await noteDoubt(db, payment, payment.doubt ?? RefusalReason.transactionFailed, receipt.blockNumber)
    : payment
  if (noted === null) return { outcome: 'moved on' }
  const verdict = await judge(chain, noted, hashesOf(transactions), receipt.blockNumber)
  // Another transaction used the open authorization first; ours reverted, and its cost is recorded.
  if (verdict.kind === 'settled' && verdict.receipt.hash !== receipt.hash)
    await recordReverted(db, chain, transactions, receipt)
  if (verdict.kind === 'settled' || verdict.kind === 'unclear') return follow(db, chain, noted, verdict, receipt)
  // The payer's code ran at the signer's expense and reverted although the simulation had succeeded.
  const isContract = receipt.tried && (await chain.hadCode(payment.payer, receipt.blockNumber))
  const earlier = transactions.filter(({ status, hash }) => status === 'mined' && hash !== receipt.hash).length
  if (verdict.kind === 'impossible' || isContract || earlier >= MAX_RETRIES) {
    const reason = verdict.kind === 'impossible' ? verdict.reason : RefusalReason.transactionFailed
    return final(await concludeFailed(db, noted, reason, verdict.block, receipt, null, isContract))
  }
  const isRecorded = await recordReverted(db, chain, transactions, receipt)
  return isRecorded ? { outcome: 'resubmit' } : { outcome: 'waiting', payment: noted }
}

/** Records the cost of a reverted transaction, all items of a batch. Returns `false` if the chain has dropped it. */
async function recordReverted(
  db: Database,
  chain: Chain,
  transactions: readonly SignedTransactionRow[],
  { hash }: Receipt,
): Promise<boolean> {
  const transaction = transactions.find((one) => one.hash === hash)
  const whole = await chain.receipt(hash)
  if (transaction === undefined || whole === null) return false
  await recordCost(db, whole, transaction)
  return true
}

/** All nonces of its transactions are used, but there is no receipt: other transactions used them, or the node lags. */
async function displaced(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  transactions: readonly SignedTransactionRow[],
): Promise<TrackResult> {
  const verdict = await judge(chain, payment, hashesOf(transactions), 0n)
  if (verdict.kind !== 'possible') return follow(db, chain, payment, verdict, null)
  const open = transactions.filter(({ status }) => status === 'open')
  // Nonces used above the judged block may be those of its own transactions.
  const count = await verdict.block.transactionCount(payment.facilitator)
  if (open.some(({ nonce }) => nonce >= count)) return { outcome: 'waiting', payment }
  await markDisplaced(db, open)
  return { outcome: 'resubmit' }
}

/** Decides on a settlement that would revert now or is late, by the chain's state alone. Throws `NodeFault`. */
export async function resolveDoubt(db: Database, chain: Chain, payment: PaymentRow): Promise<TrackResult> {
  // Reads the head now: the judged block must include what the payer did just before the authorization, such as an approval.
  const { doubt, blockNumber } = await readDoubt(chain, payment)
  // A passed deadline does not hide an earlier obstacle.
  const isLate = doubt === null || doubt === RefusalReason.deadlineExpired
  const reason = (isLate ? payment.doubt : null) ?? doubt ?? RefusalReason.simulationFailed
  const noted = await noteDoubt(db, payment, reason, blockNumber)
  if (noted === null) return { outcome: 'moved on' }
  const transactions = await readTransactions(db, payment)
  const verdict = await judge(chain, noted, hashesOf(transactions), noted.doubtfulFrom ?? blockNumber)
  return follow(db, chain, noted, verdict, await findReceipt(chain, transactions))
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

/** Signs a stuck transaction again, with the same nonce and a higher fee, for all its payments. `null` if it was already replaced. */
async function bump(
  db: Database,
  chain: Chain,
  payment: PaymentRow,
  stuck: SignedTransactionRow,
  fees: Fees,
): Promise<SignedTransactionRow | null> {
  const { hash, signer, nonce, gas } = stuck
  const { to, data } = parseTransaction(stuck.raw)
  const intent = { signer, to: (to ?? signer).toLowerCase() as Address, data: data ?? '0x', gas }
  const transaction = await signTransaction(chain, intent, nonce, fees)
  return db.transaction(async (tx) => {
    const paymentIds = await readPaymentIds(tx, hash)
    // All replacements are made under these locks.
    const settled = await lockPayments(tx, paymentIds)
    const [newest] = await readTransactions(tx, payment)
    if (newest?.hash !== hash) return null
    await storeTransaction(tx, transaction, paymentIds)
    // A payment that ended in the meantime stays in the batch, so that the others keep their index.
    for (const each of settled.filter(({ state, transaction: current }) => state === 'submitted' && current === hash)) {
      await changePayment(tx, each, {
        kind: 'fee raised',
        set: { transaction: transaction.hash },
        data: { transaction: transaction.hash, nonce, maxFeePerGas: fees.maxFeePerGas.toString() },
      })
    }
    return transaction
  })
}

function final(payment: PaymentRow | null): TrackResult {
  return payment === null ? { outcome: 'moved on' } : { outcome: 'final', payment }
}

import { type Hash, RefusalReason } from '@upfront/protocol'
import type { BlockView } from '../../chain/block-view.js'
import type { Chain } from '../../chain/chain.js'
import { NodeRefusal } from '../../chain/node-error.js'
import type { Receipt } from '../../chain/receipt.js'
import { callOf } from '../../chain/settlement-call.js'
import { changePayment } from '../../ledger/change-payment.js'
import type { Database } from '../../ledger/ledger.js'
import type { PaymentRow } from '../../ledger/schema.js'
import { findSpend } from './find-spend.js'

/** Minimum depth below the head at which payments are judged. A chain's `confirmations` may be higher. */
export const DEPTH_BLOCKS = 3n

/** The chain's verdict on a charge that was not settled in the usual way. */
export type Verdict =
  /** This transaction settled it. */
  | { kind: 'settled'; receipt: Receipt }
  /** It can't be settled as of `block`. */
  | { kind: 'impossible'; reason: string; block: BlockView }
  /** It can be settled as of `block`. */
  | { kind: 'possible'; block: BlockView }
  /** The block is not deep enough, or the node's answers are inconsistent. */
  | { kind: 'unclear' }

/**
 * Judges a charged payment by the state of one block below the head, read by its hash, because a node's "latest" may be stale. `notBefore`:
 * the block must not be older than this. `own`: hashes of the transactions signed for the payment. Throws `NodeFault` and `NodeRefusal`.
 */
export async function judge(
  chain: Chain,
  payment: PaymentRow,
  own: ReadonlySet<Hash>,
  notBefore: bigint,
): Promise<Verdict> {
  const { charge } = payment
  if (charge === null) throw new Error(`payment ${payment.id} was not charged`)
  const confirmations = BigInt(chain.confirmations)
  const block = await chain.blockBelowHead(confirmations > DEPTH_BLOCKS ? confirmations : DEPTH_BLOCKS)
  if (block === null || block.number < payment.authorizedBlock) return { kind: 'unclear' }
  if (await block.isNonceUsed(payment)) {
    const spend = await findSpend(chain, block, payment, own)
    if (spend.kind === 'settlement') return { kind: 'settled', receipt: spend.receipt }
    // A spend that can't be looked up ends the payment at its deadline. If it was a settlement after all, `compare` finds its transfer and
    // settles the payment.
    const isOpen = spend.kind === 'pruned' && payment.deadline >= block.timestamp
    if (spend.kind === 'unknown' || isOpen) return { kind: 'unclear' }
    return { kind: 'impossible', reason: RefusalReason.nonceInvalidated, block }
  }
  // Timestamps only increase, so no later block can settle it.
  if (payment.deadline < block.timestamp) return { kind: 'impossible', reason: RefusalReason.deadlineExpired, block }
  if (block.number < notBefore) return { kind: 'unclear' }
  const reason = await findObstacle(block, payment, charge)
  return reason === null ? { kind: 'possible', block } : { kind: 'impossible', reason, block }
}

/** The x402 reason why a charge can't be settled on top of this block; `null` if it can. Throws `NodeFault` and `NodeRefusal`. */
export async function findObstacle(block: BlockView, payment: PaymentRow, charge: bigint): Promise<string | null> {
  const { kind, payer, asset, deadline } = payment
  if (deadline < block.timestamp) return RefusalReason.deadlineExpired
  const [wouldSettle, isUsed, balance, allowance] = await Promise.all([
    block.wouldSettle(callOf(payment, charge), payment.settlementGas),
    block.isNonceUsed(payment),
    block.balanceOf(asset, payer),
    kind === 'exact-eip3009' ? charge : block.permit2Allowance(asset, payer),
  ])
  if (wouldSettle) return null
  if (isUsed) return RefusalReason.nonceInvalidated
  if (balance < charge) return RefusalReason.insufficientBalance
  return allowance < charge ? RefusalReason.allowanceRequired : RefusalReason.simulationFailed
}

/** The x402 reason why a charge can't be settled on the newest block, and that block's number. Throws `NodeFault`. */
export async function readDoubt(
  chain: Chain,
  payment: PaymentRow,
): Promise<{ doubt: string | null; blockNumber: bigint }> {
  const block = await chain.blockBelowHead(0n)
  if (block === null || payment.charge === null) return { doubt: null, blockNumber: chain.head.number }
  try {
    return { doubt: await findObstacle(block, payment, payment.charge), blockNumber: block.number }
  } catch (error) {
    // This node can't serve the state of a block by its hash.
    if (!(error instanceof NodeRefusal)) throw error
    return { doubt: RefusalReason.simulationFailed, blockNumber: block.number }
  }
}

/**
 * Stores or clears the doubt about a charge, so that its seller knows at once. Returns the updated payment, or `null` if another process
 * changed it first.
 */
export async function noteDoubt(
  db: Database,
  payment: PaymentRow,
  doubt: string | null,
  blockNumber: bigint,
): Promise<PaymentRow | null> {
  if (payment.doubt === doubt) return payment
  const from = payment.doubtfulFrom ?? blockNumber
  return changePayment(db, payment, {
    kind: doubt === null ? 'doubt lifted' : 'doubtful',
    set: { doubt, doubtfulFrom: doubt === null ? null : from },
    data: { doubt, block: blockNumber.toString() },
  })
}

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

/** How far below the head the chain's facts are read, at least. A chain's `confirmations` may ask for more. */
export const DEPTH_BLOCKS = 3n

/** What the chain says of a charge that could not be settled in the usual way. */
export type Verdict =
  /** It was settled, by this transaction. */
  | { kind: 'settled'; receipt: Receipt }
  /** As of `block`, it can't be settled. */
  | { kind: 'impossible'; reason: string; block: BlockView }
  /** Nothing is in the way as of `block`. */
  | { kind: 'possible'; block: BlockView }
  /** Not deep enough yet, or the node does not show it consistently. */
  | { kind: 'unclear' }

/**
 * Judges a charged payment by one block, some blocks below the head, whose state is read by its hash: never by what a node
 * happens to call the newest. `notBefore`: that block must be this one or later, for what may have changed since. `own`: the
 * hashes that were signed for the payment. Throws `NodeFault` and `NodeRefusal`.
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
    // What can't be looked up ends with its deadline: should it have been a settlement, its transfer heals it (`compare`).
    const isOpen = spend.kind === 'pruned' && payment.deadline >= block.timestamp
    if (spend.kind === 'unknown' || isOpen) return { kind: 'unclear' }
    return { kind: 'impossible', reason: RefusalReason.nonceInvalidated, block }
  }
  // Time does not go back: no later block can settle it.
  if (payment.deadline < block.timestamp) return { kind: 'impossible', reason: RefusalReason.deadlineExpired, block }
  if (block.number < notBefore) return { kind: 'unclear' }
  const reason = await findObstacle(block, payment, charge)
  return reason === null ? { kind: 'possible', block } : { kind: 'impossible', reason, block }
}

/** Why a charge can't be settled on top of this block, an x402 reason; `null`: it can. Throws `NodeFault` and `NodeRefusal`. */
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

/** Why a charge could not be settled on the newest block, an x402 reason, and which that is. Throws `NodeFault`. */
export async function readDoubt(
  chain: Chain,
  payment: PaymentRow,
): Promise<{ doubt: string | null; blockNumber: bigint }> {
  const block = await chain.blockBelowHead(0n)
  if (block === null || payment.charge === null) return { doubt: null, blockNumber: chain.head.number }
  try {
    return { doubt: await findObstacle(block, payment, payment.charge), blockNumber: block.number }
  } catch (error) {
    // A node that does not show the state of a block by its hash.
    if (!(error instanceof NodeRefusal)) throw error
    return { doubt: RefusalReason.simulationFailed, blockNumber: block.number }
  }
}

/**
 * Notes what is against a charge, or that nothing is any more, so that its seller knows at once. Answers the payment as it is then;
 * `null`: it has moved on.
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

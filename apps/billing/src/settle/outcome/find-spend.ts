import type { Hash } from '@upfront/protocol'
import type { BlockView } from '../../chain/block-view.js'
import type { Chain } from '../../chain/chain.js'
import { NodeRefusal } from '../../chain/node-error.js'
import { type OpenAuthorization, openPart } from '../../chain/open-transfer.js'
import type { Receipt } from '../../chain/receipt.js'
import { receiptAt, type SettlementPlace, settlementsOf } from '../../chain/settlement-batch.js'
import { isProxy } from '../../chain/settlement-call.js'
import type { PaymentRow } from '../../ledger/schema.js'

/** What used a payment's nonce. */
export type Spend =
  /** The payment's settlement: ours, one sent with our key by another process or, for `exact`, anyone's. */
  | { kind: 'settlement'; receipt: Receipt }
  /** Something else: the payer invalidated the nonce or used it otherwise. */
  | { kind: 'other' }
  /** The node does not have the whole block yet, or its answers are inconsistent. */
  | { kind: 'unknown' }
  /** The node has pruned the state of that time. */
  | { kind: 'pruned' }

type Authorization = OpenAuthorization & Pick<PaymentRow, 'authorizedBlock'>

/** Slack below `authorizedBlock` at which the nonce was unused: the node may have lagged when the payment was authorized. */
const SLACK_BLOCKS = 64n

/**
 * Finds what used the payment's nonce, which is used as of `view`. A nonce is used in exactly one block, so the payment's settlement is in
 * that block or does not exist. `own`: hashes of the transactions signed for it. Throws `NodeFault` and `NodeRefusal`.
 */
export async function findSpend(
  chain: Chain,
  view: BlockView,
  payment: Authorization,
  own: ReadonlySet<Hash>,
): Promise<Spend> {
  const block = await findBlock(chain, view, payment)
  if (block === null || block === 'pruned') return { kind: block ?? 'unknown' }
  const isOpen = payment.kind !== 'upto-permit2'
  const candidates = new Map<Hash, SettlementPlace | null>()
  const others = new Set<Hash>()
  for (const transaction of block.transactions) {
    const places = settlementsOf(transaction)
    const believed = places.filter(({ to }) => isProxy(to) || to === payment.facilitator)
    const place = believed.find(({ kind, payer, nonce }) => {
      return kind === payment.kind && payer === payment.payer && nonce === payment.nonce
    })
    if (place !== undefined || own.has(transaction.hash)) candidates.set(transaction.hash, place ?? null)
    else if (believed.length > 0) others.add(transaction.hash)
  }
  if (candidates.size === 0 && !isOpen) return { kind: 'other' }
  const receipts = await block.receipts()
  if (receipts === null) return { kind: 'unknown' }
  for (const found of receipts) {
    const place = candidates.get(found.hash)
    const receipt = place ? receiptAt(found, place, payment) : found
    if (candidates.has(found.hash) && receipt.succeeded) return { kind: 'settlement', receipt }
  }
  // Any other contract may have used the authorization. A transaction whose calldata names other payments settles those.
  const parts = receipts.filter(({ hash }) => isOpen && !others.has(hash)).map((whole) => openPart(whole, payment))
  const receipt = parts.find((part) => part !== null)
  return receipt === undefined ? { kind: 'other' } : { kind: 'settlement', receipt }
}

/** The block in which the nonce was used; `null` if the node's answers are inconsistent. */
async function findBlock(chain: Chain, view: BlockView, payment: Authorization): Promise<BlockView | 'pruned' | null> {
  const { authorizedBlock } = payment
  const isUsed = (number: bigint) => chain.at(number).isNonceUsed(payment)
  let used = view.number
  let unused = authorizedBlock > SLACK_BLOCKS ? authorizedBlock - SLACK_BLOCKS : 0n
  try {
    if (unused >= used || (await isUsed(unused))) return null
    while (used - unused > 1n) {
      const middle = (used + unused) / 2n
      if (await isUsed(middle)) used = middle
      else unused = middle
    }
  } catch (error) {
    if (error instanceof NodeRefusal) return 'pruned'
    throw error
  }
  const block = await chain.block(used)
  if (block === null) return null
  const isTheOne = (await block.isNonceUsed(payment)) && !(await block.before.isNonceUsed(payment))
  return isTheOne ? block : null
}

import type { Hash } from '@upfront/protocol'
import type { BlockView } from '../../chain/block-view.js'
import type { Chain } from '../../chain/chain.js'
import { transferPart } from '../../chain/eip3009-transfer.js'
import { NodeRefusal } from '../../chain/node-error.js'
import type { Receipt } from '../../chain/receipt.js'
import { receiptAt, type SettlementPlace, settlementsOf } from '../../chain/settlement-batch.js'
import { UPTO_PROXY } from '../../chain/settlement-call.js'
import type { PaymentRow } from '../../ledger/schema.js'

/** What used up a payment's nonce. */
export type Spend =
  /** A settlement of it: ours, one that another process sent with our key, or of EIP-3009 anybody's. */
  | { kind: 'settlement'; receipt: Receipt }
  /** Something else: the payer burnt the nonce, or spent it another way. */
  | { kind: 'other' }
  /** The node does not show all of that block yet, or not the state around it. */
  | { kind: 'unknown' }

type Authorization = Pick<PaymentRow, 'kind' | 'asset' | 'payer' | 'nonce' | 'facilitator' | 'authorizedBlock'>

/** The nonce was unused when it was authorized, at a block that the node may have been late with. */
const SLACK_BLOCKS = 64n

/**
 * Finds what used the payment's nonce, which is used as of `view`. A nonce is used in one block, for ever: the
 * payment's settlement is in that block, or there is none. `own`: the hashes that were signed for it. Throws `NodeFault` and
 * `NodeRefusal`.
 */
export async function findSpend(
  chain: Chain,
  view: BlockView,
  payment: Authorization,
  own: ReadonlySet<Hash>,
): Promise<Spend> {
  const block = await findBlock(chain, view, payment)
  if (block === null) return { kind: 'unknown' }
  if (payment.kind === 'exact-eip3009') return findTransferIn(block, payment, own)
  const candidates = new Map<Hash, SettlementPlace | null>()
  for (const transaction of block.transactions) {
    const place = settlementsOf(transaction).find(({ payer, nonce, to }) => {
      return payer === payment.payer && nonce === payment.nonce && (to === UPTO_PROXY || to === payment.facilitator)
    })
    if (place !== undefined || own.has(transaction.hash)) candidates.set(transaction.hash, place ?? null)
  }
  if (candidates.size === 0) return { kind: 'other' }
  const receipts = await block.receipts()
  if (receipts === null) return { kind: 'unknown' }
  const receipt = receipts
    .filter(({ hash }) => candidates.has(hash))
    .map((found) => {
      const place = candidates.get(found.hash)
      return place ? receiptAt(found, place) : found
    })
    .find(({ succeeded }) => succeeded)
  return receipt === undefined ? { kind: 'other' } : { kind: 'settlement', receipt }
}

/** The transfer by an EIP-3009 authorization in the block that used its nonce: by its event, since anybody may have sent it. */
async function findTransferIn(block: BlockView, payment: Authorization, own: ReadonlySet<Hash>): Promise<Spend> {
  const receipts = await block.receipts()
  if (receipts === null) return { kind: 'unknown' }
  for (const whole of receipts) {
    const part = whole.succeeded ? transferPart(whole, payment) : null
    if (part !== null) return { kind: 'settlement', receipt: own.has(whole.hash) ? whole : part }
  }
  return { kind: 'other' }
}

/** The block in which the nonce was used; `null` where the node does not show it consistently. */
async function findBlock(chain: Chain, view: BlockView, payment: Authorization) {
  const { authorizedBlock } = payment
  const isUsed = (number: bigint) => chain.isNonceUsed(payment, number)
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
    // A node without old state.
    if (error instanceof NodeRefusal) return null
    throw error
  }
  const block = await chain.block(used)
  if (block === null) return null
  const isTheOne = (await block.isNonceUsed(payment)) && !(await block.wasNonceUsedBefore(payment))
  return isTheOne ? block : null
}

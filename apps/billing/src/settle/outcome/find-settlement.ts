import { and, eq } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { authorizationOf, isByExactProxy } from '../../chain/open-transfer.js'
import type { Log, Receipt } from '../../chain/receipt.js'
import { itemOfLog, type SettlementPlace, settlementsOf } from '../../chain/settlement-batch.js'
import { addressIn, isProxy } from '../../chain/settlement-call.js'
import { findPayment } from '../../ledger/find-payment.js'
import type { Database } from '../../ledger/ledger.js'
import { isClaimed } from '../../ledger/record-receipt.js'
import { type PaymentRow, payments } from '../../ledger/schema.js'

/** The settlement behind a transfer. */
export interface FoundSettlement {
  /** `null` if the ledger does not have it. */
  payment: PaymentRow | null
  place: SettlementPlace
}

/** Limit for payments with the same terms: a transfer pays one of them. */
const MAX_ALIKE = 16

/**
 * Finds the payment that a transfer settled, by the transaction's calldata and, in a batch, the log's position. `exact` can be settled by
 * anyone, so it is also found by the event next to the transfer. `null` if it is no settlement, or one that the ledger does not have and
 * that is of `exact` or in a stranger's batch. Throws `NodeFault` and `NodeRefusal`.
 */
export async function findSettlement(
  db: Database,
  chain: Chain,
  { transactionHash, logIndex }: Pick<Log, 'transactionHash' | 'logIndex'>,
): Promise<FoundSettlement | null> {
  const transaction = await chain.transaction(transactionHash)
  const places = transaction === null ? [] : settlementsOf(transaction)
  const [first] = places
  if (first === undefined) return findOpen(db, chain, { transactionHash, logIndex })
  const place = isProxy(first.to) ? first : await placeInBatch(chain, places, { transactionHash, logIndex })
  if (place === undefined) return null
  const payment = await findPayment(db, chain.network, place.payer, place.nonce)
  // Other facilitators settle `exact` too, and the payer may have used the nonce for another authorization.
  if (payment?.kind !== place.kind && place.kind !== 'upto-permit2') return null
  // Anyone can log what looks like a batch, but only a payment's own facilitator can settle it in one.
  const isBatchOfStranger = !isProxy(place.to) && place.to !== payment?.facilitator && !chain.signers.has(place.to)
  return isBatchOfStranger ? findOpen(db, chain, { transactionHash, logIndex }) : { payment, place }
}

/** Finds an `exact` payment settled by some other contract, which calldata does not show. Ignores payments of other facilitators. */
async function findOpen(
  db: Database,
  chain: Chain,
  { transactionHash, logIndex }: Pick<Log, 'transactionHash' | 'logIndex'>,
): Promise<FoundSettlement | null> {
  const receipt = await chain.receipt(transactionHash)
  if (receipt === null) return null
  const used = authorizationOf(receipt, logIndex)
  const authorized = used === null ? null : await findPayment(db, chain.network, used.payer, used.nonce)
  const isOwn = authorized?.kind === 'exact-eip3009' && authorized.asset === used?.asset
  const payment = isOwn ? authorized : await findPermitted(db, chain, receipt, logIndex)
  if (payment === null) return null
  const { kind, payer, nonce, asset: to } = payment
  return { payment, place: { kind, payer, nonce, target: to, to, item: 0, items: 1 } }
}

/**
 * Finds the failed Permit2 payment with this transfer's terms whose nonce this block used. `null` if there is none, or another payment
 * has the transfer. Throws `NodeFault`.
 */
async function findPermitted(
  db: Database,
  chain: Chain,
  receipt: Receipt,
  logIndex: number,
): Promise<PaymentRow | null> {
  const log = receipt.logs.find((one) => one.logIndex === logIndex)
  if (log === undefined || !isByExactProxy(receipt, logIndex)) return null
  const alike = await db
    .select()
    .from(payments)
    .where(
      and(
        eq(payments.network, chain.network),
        eq(payments.kind, 'exact-permit2'),
        eq(payments.state, 'failed'),
        eq(payments.asset, log.address),
        eq(payments.payer, addressIn(log.topics[1])),
        eq(payments.payTo, addressIn(log.topics[2])),
        eq(payments.maximum, BigInt(log.data)),
      ),
    )
    .limit(MAX_ALIKE)
  const block = alike.length === 0 ? null : await chain.block(receipt.blockNumber)
  if (block?.hash !== receipt.blockHash) return null
  for (const payment of alike) {
    const isOfBlock = (await block.isNonceUsed(payment)) && !(await block.before.isNonceUsed(payment))
    if (isOfBlock && !(await isClaimed(db, payment, receipt, log))) return payment
  }
  return null
}

async function placeInBatch(
  chain: Chain,
  places: readonly SettlementPlace[],
  { transactionHash, logIndex }: Pick<Log, 'transactionHash' | 'logIndex'>,
): Promise<SettlementPlace | undefined> {
  const to = places[0]?.to
  if (to === undefined) return undefined
  const receipt = await chain.receipt(transactionHash)
  const item = receipt === null ? null : itemOfLog(receipt, to, logIndex)
  return places.find((place) => place.item === item)
}

import type { Chain } from '../../chain/chain.js'
import { authorizationOf } from '../../chain/eip3009-transfer.js'
import type { Log } from '../../chain/receipt.js'
import { itemOfLog, type SettlementPlace, settlementsOf } from '../../chain/settlement-batch.js'
import { UPTO_PROXY } from '../../chain/settlement-call.js'
import { findPayment } from '../../ledger/find-payment.js'
import type { Database } from '../../ledger/ledger.js'
import type { PaymentRow } from '../../ledger/schema.js'

/** The settlement that a transfer belongs to. */
export interface FoundSettlement {
  /** `null`: the ledger does not know it. */
  payment: PaymentRow | null
  place: SettlementPlace
}

/**
 * Which payment a transfer settled, by its transaction's calldata and, of a batch, by the log's place; of EIP-3009 by the event beside
 * it. `null`: it was no settlement through the upto proxy, or one of somebody whom the ledger does not know. Throws `NodeFault` and
 * `NodeRefusal`.
 */
export async function findSettlement(
  db: Database,
  chain: Chain,
  { transactionHash, logIndex }: Pick<Log, 'transactionHash' | 'logIndex'>,
): Promise<FoundSettlement | null> {
  const transaction = await chain.transaction(transactionHash)
  const places = transaction === null ? [] : settlementsOf(transaction)
  if (places.length === 0) return findAuthorized(db, chain, { transactionHash, logIndex })
  const place =
    places[0]?.to === UPTO_PROXY ? places[0] : await placeInBatch(chain, places, { transactionHash, logIndex })
  if (place === undefined) return null
  const payment = await findPayment(db, chain.network, place.payer, place.nonce)
  // Anybody can log what looks like a batch; only a payment's own facilitator can settle it in one.
  const isBatchOfStranger = place.to !== UPTO_PROXY && place.to !== payment?.facilitator && !chain.signers.has(place.to)
  return isBatchOfStranger ? null : { payment, place }
}

/** A payment's transfer by EIP-3009; those of other facilitators are nothing of ours. */
async function findAuthorized(
  db: Database,
  chain: Chain,
  { transactionHash, logIndex }: Pick<Log, 'transactionHash' | 'logIndex'>,
): Promise<FoundSettlement | null> {
  const receipt = await chain.receipt(transactionHash)
  const used = receipt === null ? null : authorizationOf(receipt, logIndex)
  const payment = used === null ? null : await findPayment(db, chain.network, used.payer, used.nonce)
  if (payment?.kind !== 'exact-eip3009' || payment.asset !== used?.asset) return null
  const { kind, payer, nonce, asset: to } = payment
  return { payment, place: { kind, payer, nonce, to, item: 0, items: 1 } }
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

import type { Chain } from '../../chain/chain.js'
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
 * Which payment a transfer settled, by its transaction's calldata and, of a batch, by the log's place. `null`: it was no settlement
 * through the upto proxy, or a batch of somebody whom the ledger does not know. Throws `NodeFault` and `NodeRefusal`.
 */
export async function findSettlement(
  db: Database,
  chain: Chain,
  { transactionHash, logIndex }: Pick<Log, 'transactionHash' | 'logIndex'>,
): Promise<FoundSettlement | null> {
  const transaction = await chain.transaction(transactionHash)
  const places = transaction === null ? [] : settlementsOf(transaction)
  const place =
    places[0]?.to === UPTO_PROXY ? places[0] : await placeInBatch(chain, places, { transactionHash, logIndex })
  if (place === undefined) return null
  const payment = await findPayment(db, chain.network, place.payer, place.nonce)
  // Anybody can log what looks like a batch; only a payment's own facilitator can settle it in one.
  const isBatchOfStranger = place.to !== UPTO_PROXY && place.to !== payment?.facilitator && !chain.signers.has(place.to)
  return isBatchOfStranger ? null : { payment, place }
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

import type { Chain } from '../../chain/chain.js'
import { openPart, zeroCostUnlessSentBy } from '../../chain/open-transfer.js'
import type { Log, Receipt } from '../../chain/receipt.js'
import { batchPart, receiptAt, type SettlementPlace, settlementsOf } from '../../chain/settlement-batch.js'
import { isProxy, transferTopics } from '../../chain/settlement-call.js'
import type { Database } from '../../ledger/ledger.js'
import type { PaymentRow } from '../../ledger/schema.js'
import { type OwnTransaction, readTransactions } from '../../ledger/signed-transactions.js'

/**
 * The payment's part of the receipt of the successful transaction or, if there is none, of a failed one with the newest nonce (failures of
 * older nonces were already replaced). Throws `NodeFault`.
 */
export async function findReceipt(chain: Chain, transactions: readonly OwnTransaction[]): Promise<Receipt | null> {
  let failed: Receipt | null = null
  for (const transaction of transactions) {
    const whole = await chain.receipt(transaction.hash)
    const receipt = whole === null ? null : ownPart(whole, transaction)
    if (receipt?.succeeded) return receipt
    if (transaction.nonce === transactions[0]?.nonce) failed ??= receipt
  }
  return failed
}

/** The payment's part of the receipt of its current transaction; `null` if it has none. Throws `NodeFault`. */
export async function readReceipt(db: Database, chain: Chain, payment: PaymentRow): Promise<Receipt | null> {
  const whole = payment.transaction === null ? null : await chain.receipt(payment.transaction)
  if (whole === null) return null
  // A call of a proxy settles a single payment, whoever sent it.
  if (isProxy(whole.to)) return zeroCostUnlessSentBy(payment.facilitator, whole)
  const own = (await readTransactions(db, payment)).find(({ hash }) => hash === whole.hash)
  if (own !== undefined) return ownPart(whole, own)
  // A batch sent with our key by another process, or any other call that uses an `exact` authorization.
  const transaction = await chain.transaction(whole.hash)
  const place = transaction === null ? undefined : settlementsOf(transaction).find((found) => isOf(found, payment))
  if (place !== undefined) return receiptAt(whole, place, payment)
  return payment.kind === 'upto-permit2' ? whole : openPart(whole, payment)
}

function ownPart(receipt: Receipt, { signer: to, item, items }: OwnTransaction): Receipt {
  return items === 1 ? receipt : batchPart(receipt, { to, item, items })
}

function isOf(found: SettlementPlace, { kind, payer, nonce }: PaymentRow): boolean {
  return found.kind === kind && found.payer === payer && found.nonce === nonce
}

/** A token's Transfer event. */
export interface Transfer {
  logIndex: number
  /** In the asset's smallest unit. */
  amount: bigint
}

/** The transfer from payer to payTo in a settlement's logs, preferably one of the charged amount; `null` if there is none. */
export function findTransfer(
  payment: Pick<PaymentRow, 'asset' | 'payer' | 'payTo' | 'charge'>,
  logs: readonly Log[],
): Transfer | null {
  const topics = transferTopics(payment)
  const transfers = logs
    .filter(({ address, topics: found }) => {
      return address === payment.asset && topics.every((topic, index) => found[index]?.toLowerCase() === topic)
    })
    .map(({ logIndex, data }) => ({ logIndex, amount: BigInt(data) }))
  return transfers.find(({ amount }) => amount === payment.charge) ?? transfers[0] ?? null
}

import type { Log } from '../../chain/receipt.js'
import { transferTopics } from '../../chain/settlement-call.js'
import type { PaymentRow } from '../../ledger/schema.js'

/** A token's Transfer event. */
export interface Transfer {
  logIndex: number
  /** The asset's smallest unit. */
  amount: bigint
}

/**
 * The transfer from payer to payTo among the logs of a transaction that settles this payment, the charged amount first;
 * `null`: there is none.
 */
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

import type { Hash } from '@upfront/protocol'
import type { Chain, Log } from '../chain/chain.js'
import { decodeSettlement, transferTopics, UPTO_PROXY } from '../chain/settlement-call.js'
import type { PaymentRow } from '../ledger/schema.js'

/** What most public nodes let one eth_getLogs span. */
const LOG_RANGE_BLOCKS = 2_000n

/** The token's Transfer from payer to payTo in a transaction's logs, as an amount in smallest units; `null`: none. */
export function transferredAmount(payment: PaymentRow, logs: readonly Log[]): bigint | null {
  const topics = transferTopics(payment)
  const transfer = logs.find(
    (log) =>
      log.address === payment.asset && topics.every((topic, index) => log.topics[index]?.toLowerCase() === topic),
  )
  return transfer === undefined ? null : BigInt(transfer.data)
}

/**
 * Looks for the transaction that settled an authorization whose Permit2 nonce is spent though none of our stored
 * transactions did it: one that another process with the same keys sent. Throws `NodeFault`.
 */
export async function findSettlement(chain: Chain, payment: PaymentRow): Promise<Hash | null> {
  const { number: head } = await chain.head.refresh()
  const topics = transferTopics(payment)
  for (let from = payment.authorizedBlock; from <= head; from += LOG_RANGE_BLOCKS) {
    const to = from + LOG_RANGE_BLOCKS - 1n < head ? from + LOG_RANGE_BLOCKS - 1n : head
    const logs = await chain.logs(payment.asset, topics, from, to)
    for (const { transactionHash } of logs) {
      const transaction = await chain.transaction(transactionHash)
      if (transaction?.to !== UPTO_PROXY) continue
      const settled = decodeSettlement(transaction.input)
      if (settled?.payer === payment.payer && settled.nonce === payment.nonce) return transactionHash
    }
  }
  return null
}

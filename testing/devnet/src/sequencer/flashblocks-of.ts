import { rpc } from '../rpc.js'
import type { FlashblockMessage } from './flashblock-message.js'
import { baseOf, type NodeBlock, rawTransaction } from './node-block.js'

const ZERO_HASH = `0x${'0'.repeat(64)}`
const NO_BLOOM = `0x${'0'.repeat(512)}`

/**
 * A sealed block of a node as flashblocks: index 0 without transactions, then `perFlashblock` in each. Gas is that of the
 * node's receipts; receipts root and bloom are claimed by the last one only.
 */
export async function flashblocksOf(
  rpcUrl: string,
  blockNumber: bigint,
  options: { perFlashblock?: number; payloadId?: string } = {},
): Promise<FlashblockMessage[]> {
  const { perFlashblock = 3, payloadId = `0x${blockNumber.toString(16).padStart(16, '0')}` } = options
  const number = `0x${blockNumber.toString(16)}`
  const block = await rpc<NodeBlock>(rpcUrl, 'eth_getBlockByNumber', [number, true])
  const receipts = await rpc<{ cumulativeGasUsed: string }[]>(rpcUrl, 'eth_getBlockReceipts', [number])
  const messages: FlashblockMessage[] = []
  for (let from = -perFlashblock; from < block.transactions.length; from += perFlashblock) {
    const added = from < 0 ? [] : block.transactions.slice(from, from + perFlashblock)
    const count = Math.max(0, from) + added.length
    const last = count === block.transactions.length
    messages.push({
      payload_id: payloadId,
      index: messages.length,
      ...(from < 0 && {
        base: baseOf(block),
      }),
      diff: {
        state_root: ZERO_HASH,
        receipts_root: last ? block.receiptsRoot : ZERO_HASH,
        logs_bloom: last ? block.logsBloom : NO_BLOOM,
        gas_used: count === 0 ? '0x0' : (receipts[count - 1]?.cumulativeGasUsed ?? '0x0'),
        block_hash: last ? block.hash : ZERO_HASH,
        transactions: added.map(rawTransaction),
        withdrawals: [],
        withdrawals_root: block.withdrawalsRoot ?? ZERO_HASH,
      },
      metadata: { block_number: Number(blockNumber) },
    })
  }
  return messages
}

import { rpc } from '../rpc.js'
import type { FlashblockMessage } from './flashblock-message.js'
import { flashblockOf, type NodeBlock } from './node-block.js'

/**
 * Splits a sealed block of a node into flashblocks: index 0 without transactions, then `perFlashblock` in each. Gas is taken from the
 * node's receipts; only the last one claims receipts root and bloom.
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
    const gasUsed = receipts[count - 1]?.cumulativeGasUsed
    const whole = { receipts_root: block.receiptsRoot, logs_bloom: block.logsBloom, block_hash: block.hash }
    const claims = { ...(gasUsed !== undefined && { gas_used: gasUsed }), ...(last && whole) }
    messages.push(flashblockOf(payloadId, messages.length, block, added, claims))
  }
  return messages
}

import { headerFromRpc } from '@upfront/head'
import type { CallLimits, UpstreamClient } from '@upfront/node'
import { decodeFixedBytes, malformed } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'

const BLOCK_BYTES = 8 * 1024 * 1024

/** A sealed block as the node has it. */
export interface CanonicalBlock {
  header: BlockHeader
  transactionHashes: Hash[]
}

/** The node's head with the hashes of its transactions. @throws UpstreamError, or the signal's reason */
export function latestBlock(client: UpstreamClient, limits: CallLimits): Promise<CanonicalBlock> {
  return client.call(
    {
      method: 'eth_getBlockByNumber',
      params: ['latest', false],
      decode: canonicalBlockFromRpc,
      maxBytes: BLOCK_BYTES,
      attempts: 1,
    },
    limits,
  )
}

function canonicalBlockFromRpc(block: unknown): CanonicalBlock {
  const header = headerFromRpc(block)
  const { transactions } = block as { transactions?: unknown }
  if (!Array.isArray(transactions)) throw malformed('a list of transaction hashes', transactions)
  return { header, transactionHashes: transactions.map((hash) => decodeFixedBytes(hash, 32)) }
}

import { malformed, type UpstreamCall } from '@upfront/node'
import { type BlockHeader, type Hash, ZERO_ADDRESS } from '@upfront/protocol'
import { headerFromRpc } from '../block/block-from-rpc.js'
import { pendingIdentity } from '../block/pending-identity.js'

/** A sealed block; its transactions are decoded only when it is executed. */
export interface SealedBlock {
  header: BlockHeader
  transactions: readonly unknown[]
  withdrawals: readonly unknown[]
}

/** Response limit. EIP-7934 allows a block 10 MB of RLP. */
const BLOCK_BYTES = 40 * 1024 * 1024
/** The nonce of every block since the Merge. */
const NO_NONCE = '0x0000000000000000'

/**
 * The call for the node's own pending block, decoded as if sealed, with `identity` as its hash. geth does not return its fee recipient,
 * which is the zero address by default. The result is undefined if the node's pending block has changed.
 */
export function pendingBlock(identity: Hash): UpstreamCall<SealedBlock | undefined> {
  return {
    method: 'eth_getBlockByNumber',
    params: ['pending', true],
    decode: (result) => {
      const { miner, transactions, ...block } = (result ?? {}) as Record<string, unknown>
      if (!Array.isArray(transactions)) throw malformed('a block with transactions', result)
      const hashes = transactions.map((transaction) => transaction?.hash)
      if (pendingIdentity({ ...block, miner, transactions: hashes }) !== identity) return undefined
      const unknown = { hash: identity, nonce: NO_NONCE, miner: miner ?? ZERO_ADDRESS }
      return sealedBlockFromRpc({ ...block, ...unknown, transactions })
    },
    maxBytes: BLOCK_BYTES,
    pace: 'prompt',
    attempts: 1,
  }
}

/** Decodes a block with full transactions from `eth_getBlockBy…`. @throws UpstreamFault */
export function sealedBlockFromRpc(block: unknown): SealedBlock {
  const header = headerFromRpc(block)
  const { transactions, withdrawals = [] } = block as { transactions?: unknown; withdrawals?: unknown }
  if (!Array.isArray(transactions)) throw malformed('a list of transactions', transactions)
  if (!Array.isArray(withdrawals)) throw malformed('a list of withdrawals', withdrawals)
  return { header, transactions, withdrawals }
}

import { malformed, type UpstreamCall } from '@upfront/node'
import { type BlockHeader, type Hash, ZERO_ADDRESS } from '@upfront/protocol'
import { headerFromRpc } from '../block/block-from-rpc.js'
import { pendingIdentity } from '../block/pending-identity.js'

/** A sealed block with its transactions, which are looked at only when it is executed. */
export interface SealedBlock {
  header: BlockHeader
  transactions: readonly unknown[]
  withdrawals: readonly unknown[]
}

/** EIP-7934 allows 10 MB of RLP. */
const BLOCK_BYTES = 40 * 1024 * 1024
/** Of every block since the Merge. */
const NO_NONCE = '0x0000000000000000'

/** The call that asks for a block with its transactions. Its result is undefined where the node does not serve the block. */
export function sealedBlock(block: Hash | 'latest'): UpstreamCall<SealedBlock | undefined> {
  const isHash = block !== 'latest'
  return {
    method: isHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber',
    params: [block, true],
    decode: (result) => {
      if (result === null) return undefined
      const sealed = sealedBlockFromRpc(result)
      if (isHash && sealed.header.hash !== block) throw malformed(`block ${block}`, sealed.header.hash)
      return sealed
    },
    maxBytes: BLOCK_BYTES,
    pace: 'prompt',
    attempts: 1,
  }
}

/**
 * The call that asks for the node's own block under construction, as if it were sealed, with `identity` as its hash. geth does not tell its fee
 * recipient, which is nobody unless it was told another. Its result is undefined where the node has another block by now.
 */
export function pendingBlock(identity: Hash): UpstreamCall<SealedBlock | undefined> {
  return {
    ...sealedBlock('latest'),
    params: ['pending', true],
    decode: (result) => {
      const { miner, transactions, ...block } = (result ?? {}) as Record<string, unknown>
      if (!Array.isArray(transactions)) throw malformed('a block with transactions', result)
      const hashes = transactions.map((transaction) => transaction?.hash)
      if (pendingIdentity({ ...block, miner, transactions: hashes }) !== identity) return undefined
      const unknown = { hash: identity, nonce: NO_NONCE, miner: miner ?? ZERO_ADDRESS }
      return sealedBlockFromRpc({ ...block, ...unknown, transactions })
    },
  }
}

/** A block as `eth_getBlockBy…` with full transactions answers it. @throws UpstreamFault */
export function sealedBlockFromRpc(block: unknown): SealedBlock {
  const header = headerFromRpc(block)
  const { transactions, withdrawals = [] } = block as { transactions?: unknown; withdrawals?: unknown }
  if (!Array.isArray(transactions)) throw malformed('a list of transactions', transactions)
  if (!Array.isArray(withdrawals)) throw malformed('a list of withdrawals', withdrawals)
  return { header, transactions, withdrawals }
}

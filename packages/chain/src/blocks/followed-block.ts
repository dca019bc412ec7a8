import { malformed, type UpstreamCall } from '@upfront/node'
import { type Hash, toQuantity } from '@upfront/protocol'
import { headerFromRpc, type SealedBlock, sealedBlockFromRpc } from '@upfront/simulation'
import type { HeaderCheck } from '../head/header-check.js'

/** A block that was followed, with what the node said of it. */
export interface FollowedBlock extends SealedBlock {
  /** As the node answered. */
  rpc: Readonly<Record<string, unknown>>
  /** Whether that has the transactions themselves, or only their hashes. */
  isWhole: boolean
}

/** EIP-7934 allows 10 MB of RLP. */
const BLOCK_BYTES = 40 * 1024 * 1024

/**
 * The call that asks for a block, whole or with its transactions' hashes. Its result is undefined where the node does not serve the block.
 * @param at its hash or its number
 * @param check refuses a header whose hash is not that of its fields
 */
export function followedBlock(
  at: Hash | bigint,
  isWhole: boolean,
  check: HeaderCheck,
): UpstreamCall<FollowedBlock | undefined> {
  return {
    method: typeof at === 'bigint' ? 'eth_getBlockByNumber' : 'eth_getBlockByHash',
    params: [typeof at === 'bigint' ? toQuantity(at) : at, isWhole],
    decode: (result) => {
      if (result === null) return undefined
      const sealed = isWhole
        ? sealedBlockFromRpc(result)
        : { header: headerFromRpc(result), transactions: [], withdrawals: [] }
      const { hash, number } = check.checked(sealed.header, result)
      if (at !== (typeof at === 'bigint' ? number : hash)) throw malformed(`block ${at}`, hash)
      const rpc = result as Record<string, unknown>
      if (!Array.isArray(rpc.transactions)) throw malformed('a list of transactions', rpc.transactions)
      return { ...sealed, rpc, isWhole }
    },
    isShown: true,
    maxBytes: BLOCK_BYTES,
    pace: 'prompt',
    // Of several nodes another one is asked.
    attempts: 2,
  }
}

/** What a block takes of the memory for kept blocks: its transactions, or a tenth of that where only their hashes are kept. */
export function weightOf({ rpc, isWhole }: FollowedBlock): number {
  const { length } = rpc.transactions as unknown[]
  return Math.ceil(1 + (isWhole ? length : length / 10))
}

/** Of a block's transactions, as the node gave them. */
export function transactionHashes({ rpc: { transactions } }: FollowedBlock): Hash[] {
  return (transactions as (Hash | { hash: Hash })[]).map((each) => (typeof each === 'string' ? each : each.hash))
}

const indexes = new WeakMap<FollowedBlock, ReadonlyMap<Hash, number>>()

/** Each transaction's place in the block, by its hash. */
export function indexesOf(block: FollowedBlock): ReadonlyMap<Hash, number> {
  let known = indexes.get(block)
  if (known === undefined) {
    known = new Map(transactionHashes(block).map((hash, index) => [hash, index]))
    indexes.set(block, known)
  }
  return known
}

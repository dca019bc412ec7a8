import { malformed, type UpstreamCall } from '@upfront/node'
import { type Hash, toQuantity } from '@upfront/protocol'
import { headerFromRpc, type SealedBlock, sealedBlockFromRpc } from '@upfront/simulation'
import type { HeaderCheck } from '../head/header-check.js'

/** A followed block together with the node's answer. */
export interface FollowedBlock extends SealedBlock {
  /** The block object that the node returned. */
  rpc: Readonly<Record<string, unknown>>
  /** Whether `rpc` holds full transactions rather than hashes. */
  isWhole: boolean
}

/** EIP-7934 allows 10 MB of RLP. */
const BLOCK_BYTES = 40 * 1024 * 1024

/**
 * The call that asks for a block, with full transactions or their hashes. It results in undefined if the node does not serve the block.
 * @param at hash or number
 * @param check rejects a header whose hash does not match its fields
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
      const { hash, number } = check.check(sealed.header, result)
      if (at !== (typeof at === 'bigint' ? number : hash)) throw malformed(`block ${at}`, hash)
      const rpc = result as Record<string, unknown>
      if (!Array.isArray(rpc.transactions)) throw malformed('a list of transactions', rpc.transactions)
      return { ...sealed, rpc, isWhole }
    },
    isShown: true,
    maxBytes: BLOCK_BYTES,
    pace: 'prompt',
    // The second attempt goes to another node, if there is one.
    attempts: 2,
  }
}

/** Characters of a transaction's input and access list that weigh as much as another transaction. */
const WEIGHED_CHARACTERS = 4_096
/** Characters counted per address or storage key of an access list: each is a string of its own. */
const KEY_CHARACTERS = 128

/**
 * The weight of a block in `KeptBlocks`: its number of transactions, plus what long inputs and access lists take; or a tenth of the number if
 * only hashes are kept.
 */
export function weightOf({ rpc, isWhole }: FollowedBlock): number {
  const transactions = rpc.transactions as unknown[]
  if (!isWhole) return Math.ceil(1 + transactions.length / 10)
  return transactions.reduce<number>((sum, each) => sum + 1 + Math.floor(charactersOf(each) / WEIGHED_CHARACTERS), 1)
}

function charactersOf(transaction: unknown): number {
  const { input, accessList } = Object(transaction) as Record<string, unknown>
  const keysOf = (entry: unknown) => (Object(entry) as { storageKeys?: unknown }).storageKeys
  const keys = asList(accessList).reduce<number>((sum, entry) => sum + 1 + asList(keysOf(entry)).length, 0)
  return (typeof input === 'string' ? input.length : 0) + KEY_CHARACTERS * keys
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Hashes of the block's transactions, in order. */
export function transactionHashes({ rpc: { transactions } }: FollowedBlock): Hash[] {
  return (transactions as (Hash | { hash: Hash })[]).map((each) => (typeof each === 'string' ? each : each.hash))
}

const indexes = new WeakMap<FollowedBlock, ReadonlyMap<Hash, number>>()

/** Index of each transaction in the block, by hash. */
export function indexesOf(block: FollowedBlock): ReadonlyMap<Hash, number> {
  let known = indexes.get(block)
  if (known === undefined) {
    known = new Map(transactionHashes(block).map((hash, index) => [hash, index]))
    indexes.set(block, known)
  }
  return known
}

import type { BlockHeader, Hash, Hex } from '@upfront/protocol'
import type {
  BlockEnvironment,
  ExecutedReceipt,
  PreconfirmedTransaction,
  StateLayer,
  StateSource,
} from '@upfront/simulation'

/** A block under construction, as far as it has been executed. Never mutated: the next flashblock makes a new one. */
export interface PreconfirmedBlock {
  payloadId: Hex
  /** Of the newest flashblock in it. */
  index: number
  /** The sequencer's own hash of the block so far. */
  hash: Hash
  environment: BlockEnvironment
  /** One for each stretch executed, oldest first. */
  layers: readonly StateLayer[]
  transactions: readonly PreconfirmedTransaction[]
  receipts: readonly ExecutedReceipt[]
  gasUsed: bigint
  blobGasUsed: bigint
  receiptsRoot: Hash
  logsBloom: Hex
}

/**
 * What `pending` is as of one flashblock: a canonical head and the blocks that stand on it. Immutable, so that whoever holds
 * it reads one state, one environment and one list of transactions.
 */
export interface PreconfirmedSnapshot {
  head: BlockHeader
  /** At least one; the last is the block under construction. */
  blocks: readonly [PreconfirmedBlock, ...PreconfirmedBlock[]]
  /** The head's state with all layers of `blocks`. */
  state: StateSource
  /** Milliseconds since 1970 when its newest flashblock came in. */
  receivedAt: number
}

/** The block under construction. */
export function newestBlock(snapshot: PreconfirmedSnapshot): PreconfirmedBlock {
  return snapshot.blocks.at(-1) as PreconfirmedBlock
}

/** The same pinned block with other layers on top. */
export function withLayers(source: StateSource, layers: readonly StateLayer[]): StateSource {
  return {
    key: source.key,
    blockNumber: source.blockNumber,
    layers,
    read: (reads, signal) => source.read(reads, signal),
  }
}

import type { BlockHeader, Hash, Hex } from '@upfront/protocol'
import type { OpeningBlock, PendingBlock, PinnedState, StateLayer } from '@upfront/simulation'

/** The executed part of a block under construction. Immutable: the next flashblock creates a new one. */
export interface PreconfirmedBlock extends PendingBlock {
  payloadId: Hex
  /** Index of its newest flashblock. */
  index: number
  /** One per execution, oldest first. */
  layers: readonly StateLayer[]
}

/**
 * `pending` as of one flashblock: a canonical head and the blocks on top of it. Immutable, so that its holder sees one consistent state,
 * environment and list of transactions.
 */
export interface PreconfirmedSnapshot {
  head: BlockHeader
  /** At least one; the last is the block under construction. */
  blocks: readonly [PreconfirmedBlock, ...PreconfirmedBlock[]]
  /** The head's state with all layers of `blocks`. */
  state: PinnedState
  /** When its newest flashblock arrived, Unix time in milliseconds. */
  receivedAt: number
}

/** The block under construction. */
export function newestBlock(snapshot: PreconfirmedSnapshot): PreconfirmedBlock {
  return snapshot.blocks.at(-1) as PreconfirmedBlock
}

/** Parent of the block under construction: the head, or a pre-confirmed block. */
export function parentOfNewest(snapshot: PreconfirmedSnapshot): BlockHeader {
  const below = snapshot.blocks.at(-2)
  return below ? headerOf(below, newestBlock(snapshot).environment.parentHash, snapshot.head) : snapshot.head
}

/**
 * A pre-confirmed block as a header. Fields that only sealing determines are taken from `head`.
 * @param hash its final hash, as the next block names it
 */
export function headerOf(block: PreconfirmedBlock, hash: Hash, head: BlockHeader): BlockHeader {
  const { number, timestamp, parentHash, gasLimit, feeRecipient, prevRandao, extraData } = block.environment
  const { baseFeePerGas, excessBlobGas, parentBeaconBlockRoot } = block.environment
  return {
    ...head,
    hash,
    parentHash,
    number,
    timestamp,
    miner: feeRecipient,
    mixHash: prevRandao,
    extraData,
    gasLimit,
    gasUsed: block.gasUsed,
    baseFeePerGas,
    receiptsRoot: block.receiptsRoot,
    logsBloom: block.logsBloom,
    blobGasUsed: block.blobGasUsed,
    ...(excessBlobGas !== undefined && { excessBlobGas }),
    ...(parentBeaconBlockRoot && { parentBeaconBlockRoot }),
  }
}

/** The block under construction as the parameters of the first simulated block. */
export function openingOf(snapshot: PreconfirmedSnapshot): OpeningBlock & { gasLimit: bigint } {
  const { timestamp, gasLimit, feeRecipient, prevRandao, baseFeePerGas, parentBeaconBlockRoot } =
    newestBlock(snapshot).environment
  return {
    timestamp,
    gasLimit,
    feeRecipient,
    prevRandao,
    baseFeePerGas,
    ...(parentBeaconBlockRoot && { beaconRoot: parentBeaconBlockRoot }),
  }
}

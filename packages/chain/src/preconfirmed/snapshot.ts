import type { BlockHeader, Hash, Hex } from '@upfront/protocol'
import type { OpeningBlock, PendingBlock, PinnedState, StateLayer } from '@upfront/simulation'

/** A block under construction, as far as it has been executed. Never mutated: the next flashblock makes a new one. */
export interface PreconfirmedBlock extends PendingBlock {
  payloadId: Hex
  /** Of the newest flashblock in it. */
  index: number
  /** One for each execution, oldest first. */
  layers: readonly StateLayer[]
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
  state: PinnedState
  /** Milliseconds since 1970 when its newest flashblock came in. */
  receivedAt: number
}

/** The block under construction. */
export function newestBlock(snapshot: PreconfirmedSnapshot): PreconfirmedBlock {
  return snapshot.blocks.at(-1) as PreconfirmedBlock
}

/** The block that the one under construction follows: the head, or a pre-confirmed block as far as it is known. */
export function parentOfNewest(snapshot: PreconfirmedSnapshot): BlockHeader {
  const below = snapshot.blocks.at(-2)
  return below ? headerOf(below, newestBlock(snapshot).environment.parentHash, snapshot.head) : snapshot.head
}

/**
 * A pre-confirmed block as a header: what sealing it will bring is left as it is in `head`.
 * @param hash its final hash, as the block after it names it
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

/** The block under construction as the first simulated block takes it on. */
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

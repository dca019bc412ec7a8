import { type BlockHeader, type BlockOverrides, ErrorCode, type Hash, RpcError } from '@upfront/protocol'

/** The block whose state a request uses throughout. */
export interface PinnedBlock {
  /** The sealed block that the first simulated block follows. */
  header: BlockHeader
  /**
   * The environment of the node's own pending block, if the state is that block's, after its transactions. Its number is the header's plus
   * one.
   */
  opening?: OpeningBlock
  /** Identity of the state: the block's hash, or a digest of the pending block. */
  key: Hash
  /** When the followed head was first seen, by `performance.now()`. Absent if the node was asked for this request. */
  seenAt?: number
}

/** The block that a request is pinned to can no longer be read. Requests by tag or number are run again. */
export class BlockMoved extends RpcError {
  constructor(upstream: string, message: string) {
    super(ErrorCode.internalError, `upstream ${upstream}: ${message}`, { upstream, fault: 'block-moved' }, 502)
  }
}

/** The environment of a block under construction (`pending`), used for fields that the request does not override. */
export type OpeningBlock = Pick<
  BlockOverrides,
  'timestamp' | 'gasLimit' | 'feeRecipient' | 'prevRandao' | 'baseFeePerGas' | 'beaconRoot'
>

import { type BlockHeader, type BlockOverrides, ErrorCode, type Hash, RpcError } from '@upfront/protocol'

/** The block whose state a request uses from beginning to end. */
export interface PinnedBlock {
  /** The sealed block that the first simulated block follows. */
  header: BlockHeader
  /**
   * The environment of the node's own block under construction, where the state is that block's, after its transactions. Its
   * number is the header's plus one.
   */
  opening?: OpeningBlock
  /** Identity of the state: the block's hash, or a digest of the pending block. */
  key: Hash
  /** Where the head is followed: `performance.now()` when it was first seen. Nobody was asked for this request. */
  seenAt?: number
}

/** The block that a request is pinned to can no longer be read. A request by tag or number is run again. */
export class BlockMoved extends RpcError {
  constructor(upstream: string, message: string) {
    super(ErrorCode.internalError, `upstream ${upstream}: ${message}`, { upstream, fault: 'block-moved' }, 502)
  }
}

/**
 * The environment of the first simulated block where it is one under construction (`pending`), for what the request does not
 * override.
 */
export type OpeningBlock = Pick<
  BlockOverrides,
  'timestamp' | 'gasLimit' | 'feeRecipient' | 'prevRandao' | 'baseFeePerGas' | 'beaconRoot'
>

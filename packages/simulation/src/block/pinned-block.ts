import type { BlockHeader, Hash } from '@upfront/protocol'
import type { OpeningBlock } from './opening-block.js'

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

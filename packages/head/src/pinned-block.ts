import type { BlockHeader, Hash } from '@upfront/protocol'
import type { OpeningBlock } from './opening-block.js'

/** One block's state, as a request stands on it from beginning to end. */
export interface PinnedBlock {
  /** The sealed block that the first simulated block follows. */
  header: BlockHeader
  /**
   * Set where the state is that of the node's own block under construction, after its transactions: its environment. Its
   * number is the header's plus one.
   */
  opening?: OpeningBlock
  /** Identity of the state: the block's hash, or a digest of the pending block. */
  key: Hash
}

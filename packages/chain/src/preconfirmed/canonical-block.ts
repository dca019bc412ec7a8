import type { BlockHeader, Hash } from '@upfront/protocol'

/** A sealed block as the node has it. */
export interface CanonicalBlock {
  header: BlockHeader
  transactionHashes: readonly Hash[]
  /** Whether it takes blocks back that were the chain's. */
  reorganised: boolean
}

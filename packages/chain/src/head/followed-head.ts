import type { BlockHeader, Hash } from '@upfront/protocol'
import type { PinnedBlock } from '@upfront/simulation'

/** The head as it is followed. */
export interface FollowedHead {
  /** The head to stand on without asking; undefined where the node must be asked. */
  current(): PinnedBlock | undefined
  /** A followed block, by its number or its hash; undefined where the node must be asked. */
  header(which: bigint | Hash): BlockHeader | undefined
  /** Learnt milliseconds between blocks; undefined until two heads were seen. */
  readonly intervalMs: number | undefined
  /** The number of the newest head known; 0 where none is followed. */
  readonly newestNumber: bigint
  /** Tells of a head that the node answered with. @param askedAt `performance.now()` when it was asked */
  noteAsked(header: BlockHeader, askedAt: number): void
}

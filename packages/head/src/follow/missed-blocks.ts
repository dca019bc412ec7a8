import type { Hash } from '@upfront/protocol'
import type { FollowedBlock } from './head-follower-options.js'

/** Blocks below a new head that are fetched, so that state can be carried over them. */
export const MOST_MISSED = 8

/**
 * The blocks below `block` down to the first whose parent is known, oldest first; undefined where no parent within reach is.
 * @param isKnown whether the block with this hash was followed
 * @param byHash undefined where a block can't be had
 */
export async function missedBlocks<B extends FollowedBlock>(
  block: B,
  isKnown: (hash: Hash) => boolean,
  byHash: (hash: Hash) => Promise<B | undefined>,
): Promise<B[] | undefined> {
  const found: B[] = []
  for (let lowest = block; !isKnown(lowest.header.parentHash); ) {
    if (found.length === MOST_MISSED) return undefined
    const parent = await byHash(lowest.header.parentHash)
    if (parent === undefined) return undefined
    found.unshift(parent)
    lowest = parent
  }
  return found
}

import type { BlockHeader, Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { Branch } from './branch.js'
import type { WithHeader } from './head-follower-options.js'

/** Of the chain up to the newest head that was taken up. */
const MOST_BLOCKS = 64
/** Of all kept blocks, in the unit of `weigh`. */
const MOST_WEIGHT = 24_000

/**
 * The newest blocks that were followed: the chain up to the newest head without a gap, and blocks beside it that were fetched. Older ones go
 * where they are too many, or too much together.
 */
export class KeptBlocks<B extends WithHeader> {
  readonly #blocks: LRUCache<Hash, B>
  readonly #chain = new Branch<BlockHeader>(MOST_BLOCKS)

  /** @param weigh of a block, at least 1 */
  constructor(weigh: (block: B) => number = () => 1) {
    this.#blocks = new LRUCache({ max: 2 * MOST_BLOCKS, maxSize: MOST_WEIGHT, sizeCalculation: weigh })
  }

  /** A block that was fetched, of the chain or not. */
  get(hash: Hash): B | undefined {
    return this.#blocks.get(hash)
  }

  /** The block of the chain with this number. */
  at(number: bigint): B | undefined {
    const header = this.#chain.at(number)
    return header && this.#blocks.get(header.hash)
  }

  /** Of the chain, newest first, as far as they are kept. */
  *newestFirst(): Generator<B> {
    for (const { hash } of this.#chain.blocks.toReversed()) {
      const block = this.#blocks.get(hash)
      if (block === undefined) return
      yield block
    }
  }

  add(block: B): void {
    this.#blocks.set(block.header.hash, block)
  }

  /**
   * The header is the newest head: the chain ends with it. What does not lead to it is beside the chain from now on.
   * @returns whether that takes blocks back
   */
  lead(header: BlockHeader): boolean {
    const fresh = [header]
    while (!this.#chain.has(fresh[0]!.parentHash) && fresh.length < MOST_BLOCKS) {
      const parent = this.#blocks.get(fresh[0]!.parentHash)
      if (parent === undefined) break
      fresh.unshift(parent.header)
    }
    const before = this.#chain.tip
    const { removed, isLinked } = this.#chain.extend(fresh)
    while (this.#chain.blocks.length < MOST_BLOCKS) {
      const older = this.#blocks.get(this.#chain.oldest!.parentHash)
      if (older === undefined) break
      this.#chain.prepend([older.header])
    }
    if (before === undefined) return false
    // Behind a gap that no block bridges, only a head that is no higher says so.
    return isLinked ? removed.length > 0 : header.number <= before.number
  }
}

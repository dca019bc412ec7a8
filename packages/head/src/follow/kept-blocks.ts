import type { BlockHeader, Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import type { FollowedBlock } from './head-follower-options.js'

/** Of the chain up to the newest head that was taken up. */
const MOST_BLOCKS = 64
/** Of all kept blocks, in the unit of `weigh`. */
const MOST_WEIGHT = 24_000

/**
 * The newest blocks that were followed: the chain up to the newest head without a gap, and blocks beside it that were fetched. Older ones go
 * where they are too many, or too much together.
 */
export class KeptBlocks<B extends FollowedBlock> {
  readonly #blocks: LRUCache<Hash, B>
  /** Oldest first, each the parent of the next. */
  #chain: BlockHeader[] = []

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
    const oldest = this.#chain[0]
    const header = oldest && this.#chain[Number(number - oldest.number)]
    return header && this.#blocks.get(header.hash)
  }

  /** Of the chain, newest first, as far as they are kept. */
  *newestFirst(): Generator<B> {
    for (let at = this.#chain.length - 1; at >= 0; at -= 1) {
      const block = this.#blocks.get(this.#chain[at]!.hash)
      if (block === undefined) return
      yield block
    }
  }

  add(block: B): void {
    this.#blocks.set(block.header.hash, block)
  }

  /** The header is the newest head: the chain ends with it. What does not lead to it is beside the chain from now on. */
  lead(header: BlockHeader): void {
    const chain = [header]
    while (chain.length < MOST_BLOCKS) {
      const { parentHash } = chain[0]!
      const at = this.#chain.findLastIndex(({ hash }) => hash === parentHash)
      if (at >= 0) {
        chain.unshift(...this.#chain.slice(Math.max(0, at + 1 + chain.length - MOST_BLOCKS), at + 1))
        continue
      }
      const parent = this.#blocks.get(parentHash)
      if (parent === undefined) break
      chain.unshift(parent.header)
    }
    this.#chain = chain
  }
}

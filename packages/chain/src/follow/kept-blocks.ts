import type { BlockHeader, Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { Branch, type Linked } from './branch.js'

/** Most blocks kept of the chain, up to its newest head. */
const MAX_BLOCKS = 64
/** Most weight of all kept blocks, in the unit of `weigh`. */
const MAX_WEIGHT = 24_000

/** A followed block: its header and whatever else the follower's owner needs. */
export interface WithHeader {
  header: BlockHeader
}

/** How a new head changed the followed chain. */
export interface ChainChange<B> {
  head: B
  /** Blocks that were removed, newest first. */
  removed: readonly BlockHeader[]
  /** Blocks that were added, oldest first. Empty if the chain goes back to a head that it already contains. */
  added: readonly B[]
  /** Whether blocks between the chain and `added` are missing. `removed` is then meaningless: it holds the whole old chain. */
  isGap: boolean
  reorganised: boolean
}

/**
 * The newest followed blocks: the chain up to its head without gaps, and other fetched blocks. The least recently used are dropped when
 * their number or total weight exceeds its bound.
 */
export class KeptBlocks<B extends WithHeader> {
  readonly #blocks: LRUCache<Hash, B>
  readonly #chain = new Branch<BlockHeader>(MAX_BLOCKS)
  readonly #weigh: (block: B) => number
  #fetched = 0

  /** @param weigh weight of a block, at least 1 */
  constructor(weigh: (block: B) => number = () => 1) {
    this.#weigh = weigh
    this.#blocks = new LRUCache({ max: 2 * MAX_BLOCKS, maxSize: MAX_WEIGHT, sizeCalculation: weigh })
  }

  /** A fetched block, part of the chain or not. */
  get(hash: Hash): B | undefined {
    return this.#blocks.get(hash)
  }

  /** The block of the chain with this number. */
  at(number: bigint): B | undefined {
    const header = this.#chain.at(number)
    return header && this.#blocks.get(header.hash)
  }

  /** Whether this block is in the chain or is the child of a block in it. A head may be known before the blocks below it. */
  isLinked({ hash, parentHash }: Pick<BlockHeader, 'hash' | 'parentHash'>): boolean {
    return this.#chain.has(hash) || this.#chain.has(parentHash)
  }

  /** The newest head that was processed. */
  get tip(): BlockHeader | undefined {
    return this.#chain.tip
  }

  /** A head and its kept ancestors, newest first. Starts at the parent if only the head is missing. */
  *newestFirst(head: Linked | undefined = this.#chain.tip): Generator<B> {
    let block = head && (this.#blocks.get(head.hash) ?? this.#blocks.get(head.parentHash))
    for (let left = MAX_BLOCKS; block !== undefined && left > 0; left -= 1) {
      yield block
      block = this.#blocks.get(block.header.parentHash)
    }
  }

  /** How many blocks were added so far. */
  get fetched(): number {
    return this.#fetched
  }

  add(block: B): void {
    this.#fetched += 1
    this.#blocks.set(block.header.hash, block)
  }

  /**
   * The blocks that link `head` to the chain, oldest first and including it. Blocks below the chain's oldest are not fetched.
   * @param most number of blocks before `head`
   * @param byHash undefined if a block is not available
   * @returns undefined if there are too many, their weight exceeds `MAX_WEIGHT`, or one is not available
   * @throws Error if a parent's number does not fit its child's; as `byHash`
   */
  async fetchBridge(head: B, most: number, byHash: (hash: Hash) => Promise<B | undefined>): Promise<B[] | undefined> {
    const { oldest, tip } = this.#chain
    const found = [head]
    if (oldest === undefined || tip === undefined || this.#chain.has(head.header.hash)) return found
    if (head.header.number - tip.number > most + 1) return undefined
    let weight = this.#weigh(head)
    for (;;) {
      const { number, parentHash } = found[0]!.header
      if (this.#chain.has(parentHash) || number <= oldest.number) return found
      const parent = found.length > most ? undefined : await byHash(parentHash)
      if (parent === undefined) return undefined
      if (parent.header.number !== number - 1n)
        throw new Error(`block ${parent.header.number} is named as the parent of ${number}`)
      found.unshift(parent)
      weight += this.#weigh(parent)
      if (weight > MAX_WEIGHT) return undefined
    }
  }

  /**
   * Makes these blocks the end of the chain. Blocks that don't lead to them leave the chain but stay fetched.
   * @param fresh the result of {@link fetchBridge}, or the head alone
   * @param isGap whether the head is alone because its ancestors could not be fetched
   */
  advance(fresh: readonly B[], isGap = false): ChainChange<B> {
    const head = fresh.at(-1)!
    const before = this.#chain.tip
    const { removed, added } = this.#chain.extend(fresh.map(({ header }) => header))
    while (this.#chain.blocks.length < MAX_BLOCKS) {
      const older = this.#blocks.get(this.#chain.oldest!.parentHash)
      if (older === undefined) break
      this.#chain.prepend([older.header])
    }
    // After a gap, only a head that is no higher shows a reorganisation.
    const reorganised = isGap ? head.header.number <= before!.number : removed.length > 0
    return { head, removed, added: fresh.slice(fresh.length - added.length), isGap, reorganised }
  }
}

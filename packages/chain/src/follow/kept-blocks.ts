import type { BlockHeader, Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { Branch, type Linked } from './branch.js'

/** Of the chain up to the newest head that was taken up. */
const MOST_BLOCKS = 64
/** Of all kept blocks, in the unit of `weigh`. */
const MOST_WEIGHT = 24_000

/** A block as it is followed: its header and whatever the follower's owner needs beside it. */
export interface WithHeader {
  header: BlockHeader
}

/** How a new head changed the chain that is followed. */
export interface ChainChange<B> {
  head: B
  /** Taken back, the newest first. */
  removed: readonly BlockHeader[]
  /** Oldest first. None where the head was of the chain already, which goes back to it. */
  added: readonly B[]
  /** Blocks before these can't be told: `removed` says nothing. */
  isGap: boolean
  reorganised: boolean
}

/**
 * The newest blocks that were followed: the chain up to the newest head without a gap, and blocks beside it that were fetched. Older ones go
 * where they are too many, or too much together.
 */
export class KeptBlocks<B extends WithHeader> {
  readonly #blocks: LRUCache<Hash, B>
  readonly #chain = new Branch<BlockHeader>(MOST_BLOCKS)
  readonly #weigh: (block: B) => number
  #fetched = 0

  /** @param weigh of a block, at least 1 */
  constructor(weigh: (block: B) => number = () => 1) {
    this.#weigh = weigh
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

  /** Whether the chain leads to this block: a head may be known before the blocks between, and be of another branch. */
  leadsTo({ hash, parentHash }: Pick<BlockHeader, 'hash' | 'parentHash'>): boolean {
    return this.#chain.has(hash) || this.#chain.has(parentHash)
  }

  /** The newest head that was taken up. */
  get tip(): BlockHeader | undefined {
    return this.#chain.tip
  }

  /** A head and its ancestors, newest first, as far as they are kept; without the head where it alone is not. */
  *newestFirst(head: Linked | undefined = this.#chain.tip): Generator<B> {
    let block = head && (this.#blocks.get(head.hash) ?? this.#blocks.get(head.parentHash))
    for (let left = MOST_BLOCKS; block !== undefined && left > 0; left -= 1) {
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
   * The blocks from the first whose parent is of the chain up to `head`, oldest first; undefined where there are too many, or one can't be had.
   * Those below the oldest block of the chain are not looked for.
   * @param most blocks before `head`
   * @param byHash undefined where a block can't be had
   * @throws Error where a parent has a number that it can't have; as `byHash`
   */
  async bridge(head: B, most: number, byHash: (hash: Hash) => Promise<B | undefined>): Promise<B[] | undefined> {
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
      if (weight > MOST_WEIGHT) return undefined
    }
  }

  /**
   * The chain ends with these blocks; what does not lead to them is beside it from now on.
   * @param fresh as `bridge` found them, or the head alone
   * @param isGap whether the head is alone because it could not be bridged
   */
  lead(fresh: readonly B[], isGap = false): ChainChange<B> {
    const head = fresh.at(-1)!
    const before = this.#chain.tip
    const { removed, added } = this.#chain.extend(fresh.map(({ header }) => header))
    while (this.#chain.blocks.length < MOST_BLOCKS) {
      const older = this.#blocks.get(this.#chain.oldest!.parentHash)
      if (older === undefined) break
      this.#chain.prepend([older.header])
    }
    // Behind a gap only a head that is no higher says so.
    const reorganised = isGap ? head.header.number <= before!.number : removed.length > 0
    return { head, removed, added: fresh.slice(fresh.length - added.length), isGap, reorganised }
  }
}

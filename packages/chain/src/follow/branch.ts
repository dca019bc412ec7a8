import type { Hash } from '@upfront/protocol'

/** What of a block says where it stands. */
export interface Linked {
  hash: Hash
  parentHash: Hash
  number: bigint
}

/** What new blocks change. */
export interface BranchChange<T> {
  /** What they take back, the newest first. */
  removed: readonly T[]
  /** Whether the first one's parent is of the chain. */
  isLinked: boolean
}

/** The newest blocks of one chain without a gap, each the parent of the next: the one place that finds what a reorganisation takes back. */
export class Branch<T extends Linked> {
  readonly #most: number
  #blocks: readonly T[] = []

  /** @param most blocks that are kept */
  constructor(most: number) {
    this.#most = most
  }

  /** Oldest first. */
  get blocks(): readonly T[] {
    return this.#blocks
  }

  get oldest(): T | undefined {
    return this.#blocks[0]
  }

  get tip(): T | undefined {
    return this.#blocks.at(-1)
  }

  at(number: bigint): T | undefined {
    const { oldest } = this
    return oldest && this.#blocks[Number(number - oldest.number)]
  }

  has(hash: Hash): boolean {
    return this.#indexOf(hash) >= 0
  }

  /**
   * What `extend` would take back.
   * @param fresh oldest first, each the parent of the next
   */
  change(fresh: readonly T[]): BranchChange<T> {
    const fork = this.#indexOf(fresh[0]!.parentHash)
    return { removed: this.#blocks.slice(fork + 1).reverse(), isLinked: fork >= 0 }
  }

  /** Goes over to the blocks; begins anew with them where their parent is not of the chain. */
  extend(fresh: readonly T[]): BranchChange<T> {
    const change = this.change(fresh)
    const kept = this.#blocks.length - change.removed.length
    this.#blocks = [...this.#blocks.slice(0, kept), ...fresh].slice(-this.#most)
    return change
  }

  /** Puts blocks before the oldest. */
  prepend(older: readonly T[]): void {
    this.#blocks = [...older, ...this.#blocks]
  }

  /** Begins anew. */
  startAt(...blocks: T[]): void {
    this.#blocks = blocks
  }

  #indexOf(hash: Hash): number {
    return this.#blocks.findLastIndex((block) => block.hash === hash)
  }
}

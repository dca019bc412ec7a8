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
  /** Those that were not of the chain before, oldest first. */
  added: readonly T[]
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
   * The chain ends with these blocks. It begins anew with them where the parent of the first is not of it.
   * @param fresh oldest first, each the parent of the next
   */
  extend(fresh: readonly T[]): BranchChange<T> {
    const known = fresh.findLastIndex(({ hash }) => this.has(hash))
    const added = fresh.slice(known + 1)
    const end = this.#indexOf(known < 0 ? fresh[0]!.parentHash : fresh[known]!.hash) + 1
    const removed = this.#blocks.slice(end).reverse()
    this.#blocks = [...this.#blocks.slice(0, end), ...added].slice(-this.#most)
    return { removed, added }
  }

  /** Puts blocks before the oldest. */
  prepend(older: readonly T[]): void {
    this.#blocks = [...older, ...this.#blocks]
  }

  #indexOf(hash: Hash): number {
    return this.#blocks.findLastIndex((block) => block.hash === hash)
  }
}

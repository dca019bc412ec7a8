import type { Hash } from '@upfront/protocol'

/** The fields that link a block to its parent. */
export interface Linked {
  hash: Hash
  parentHash: Hash
  number: bigint
}

/** How the branch changed. */
export interface BranchChange<T> {
  /** Blocks no longer part of the chain, newest first. */
  removed: readonly T[]
  /** Blocks new to the chain, oldest first. */
  added: readonly T[]
}

/** The newest blocks of one chain, without gaps. The only place that determines what a reorganisation removes. */
export class Branch<T extends Linked> {
  readonly #most: number
  #blocks: readonly T[] = []

  /** @param most number of blocks kept */
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
   * Makes these blocks the end of the chain. If the first one's parent is not in the chain, the chain restarts with them.
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

  /** Adds blocks before the oldest. */
  prepend(older: readonly T[]): void {
    this.#blocks = [...older, ...this.#blocks]
  }

  #indexOf(hash: Hash): number {
    return this.#blocks.findLastIndex((block) => block.hash === hash)
  }
}

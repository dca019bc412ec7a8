import { readKey, type StateRead } from '@upfront/simulation'

/** The values that were read last, each once: what one block reads, the next one mostly reads again. */
export class RecentReads {
  readonly #reads = new Map<string, StateRead>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  note(reads: readonly StateRead[]): void {
    for (const read of reads) {
      if (read.kind === 'blockHash') continue
      const key = readKey(read)
      this.#reads.delete(key)
      this.#reads.set(key, read)
    }
    for (const oldest of this.#reads.keys()) {
      if (this.#reads.size <= this.#most) break
      this.#reads.delete(oldest)
    }
  }

  all(): StateRead[] {
    return [...this.#reads.values()]
  }
}

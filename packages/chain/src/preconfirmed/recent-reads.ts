import { readKey, type StateRead } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'

/** The most recently read values, without duplicates: the next block reads mostly the same ones. */
export class RecentReads {
  readonly #reads: LRUCache<string, StateRead>

  constructor(max: number) {
    this.#reads = new LRUCache({ max })
  }

  note(reads: readonly StateRead[]): void {
    for (const read of reads) if (read.kind !== 'blockHash') this.#reads.set(readKey(read), read)
  }

  all(): StateRead[] {
    return this.#reads.dump().map(([, { value }]) => value)
  }
}

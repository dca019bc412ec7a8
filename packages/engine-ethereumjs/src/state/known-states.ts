import type { Hash } from '@upfront/protocol'
import { readKey, type StateRead, type StateValue } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'

/** Estimates of a map's entry with the headers of its strings, and of a word. */
const ENTRY_BYTES = 120
const WORD_BYTES = 32

interface KnownState {
  readonly values: Map<string, StateValue>
  readonly bytes: number
}

/**
 * Values of states, by the states' keys: together within `maxBytes` as estimated. The state that was used least recently
 * leaves first, and always as a whole.
 */
export class KnownStates {
  readonly #states: LRUCache<Hash, KnownState>

  constructor(maxBytes: number) {
    this.#states = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ bytes }) => bytes })
  }

  /** In the order of `reads`; undefined where the value is not known. */
  values(key: Hash, reads: readonly StateRead[]): (StateValue | undefined)[] {
    const known = this.#states.get(key)?.values
    return reads.map((read) => known?.get(readKey(read)))
  }

  /** @param values in the order of `reads` */
  keep(key: Hash, reads: readonly StateRead[], values: readonly StateValue[]): void {
    const kept = this.#states.peek(key)
    const known = kept?.values ?? new Map<string, StateValue>()
    let bytes = kept?.bytes ?? ENTRY_BYTES
    for (const [index, read] of reads.entries()) {
      const name = readKey(read)
      if (known.has(name)) continue
      const value = values[index]!
      known.set(name, value)
      bytes += ENTRY_BYTES + name.length + (typeof value === 'string' ? value.length : WORD_BYTES)
    }
    // In a new object: the cache takes the size anew only of another value.
    this.#states.set(key, { values: known, bytes })
  }
}

import type { Hash, Hex } from '@upfront/protocol'
import type { StateValue } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'
import type { Place } from './flight.js'

/** Map entry, string headers and the like, bytes. */
const ENTRY_OVERHEAD = 120
const SHARED_CODE_BYTES = 16 * 1024 * 1024

/** What is known of one pinned block's state. */
export class BlockCache {
  readonly #values = new Map<string, StateValue>()
  /** Under way, by key, so that nobody asks twice. */
  readonly inFlight = new Map<string, Place>()
  readonly #onGrowth: (cache: BlockCache, bytes: number) => void
  readonly #codes: LRUCache<string, Hex>
  bytes = 0
  #evicted = false

  /** @param codes code that accounts were last seen with, by key */
  constructor(onGrowth: (cache: BlockCache, bytes: number) => void, codes: LRUCache<string, Hex>) {
    this.#onGrowth = onGrowth
    this.#codes = codes
  }

  get(key: string): StateValue | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: StateValue): void {
    if (this.#evicted) return
    const { size } = this.#values
    const isCode = typeof value === 'string' && value !== '0x' && key.startsWith('c')
    this.#values.set(key, isCode ? this.#shared(key, value) : value)
    if (this.#values.size === size) return
    const bytes = ENTRY_OVERHEAD + key.length + (typeof value === 'string' ? value.length : 32)
    this.bytes += bytes
    this.#onGrowth(this, bytes)
  }

  /** Code hardly ever changes: blocks share it, instead of each holding a copy of its own. */
  #shared(key: string, code: Hex): Hex {
    const known = this.#codes.get(key)
    if (known === code) return known
    this.#codes.set(key, code)
    return code
  }

  /** From now on it holds nothing: whoever still reads the block asks the node. */
  evict(): void {
    this.#evicted = true
    this.#values.clear()
    this.bytes = 0
  }
}

/** Caches of pinned blocks, together within `maxBytes`: the block that was used least recently goes first, as a whole. */
export class StateCache {
  readonly #blocks = new Map<Hash, BlockCache>()
  readonly #codes = new LRUCache<string, Hex>({
    maxSize: SHARED_CODE_BYTES,
    sizeCalculation: (code, key) => code.length + key.length,
  })
  readonly #maxBytes: number
  #bytes = 0
  #newest: Hash | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The block's cache, made where it is new; from now on the most recently used. */
  at(key: Hash): BlockCache {
    let block = this.#blocks.get(key)
    if (block !== undefined && key === this.#newest) return block
    this.#newest = key
    if (block === undefined) block = new BlockCache((grown, bytes) => this.#grow(key, grown, bytes), this.#codes)
    else this.#blocks.delete(key)
    this.#blocks.set(key, block)
    return block
  }

  get bytes(): number {
    return this.#bytes
  }

  #grow(key: Hash, block: BlockCache, bytes: number): void {
    if (this.#blocks.get(key) !== block) return
    this.#bytes += bytes
    for (const [oldest, cache] of this.#blocks) {
      if (this.#bytes <= this.#maxBytes) return
      this.#bytes -= cache.bytes
      this.#blocks.delete(oldest)
      cache.evict()
    }
  }
}

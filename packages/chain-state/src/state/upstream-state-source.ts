import { ErrorCode, type Hash, RpcError } from '@upfront/protocol'
import type { StateLayer, StateRead, StateSource, StateValue } from '@upfront/simulation'
import type { PinnedBlock } from '../block/pinned-block.js'
import type { UpstreamObserver } from '../upstream/upstream-observer.js'
import { within } from '../upstream/within.js'
import { readKey } from './read-call.js'
import type { BlockCache } from './state-cache.js'
import type { StateReads } from './state-reads.js'

export interface StateSourceOptions {
  /** Most values that this request may have read from upstream. */
  readLimit: number
  /** `performance.now()` at which reading ends, whatever the node does. */
  deadline: number
  /** Called once, with the first read that the cache can't answer. */
  onFirstMiss?: () => void
}

/** One request's view of a pinned block. */
export class UpstreamStateSource implements StateSource {
  readonly key: Hash
  readonly blockNumber: bigint
  readonly layers: readonly StateLayer[] = []
  /** Values that the shared cache did not have. */
  readsUpstream = 0
  readonly #block: PinnedBlock
  readonly #cache: BlockCache
  readonly #reads: StateReads
  readonly #options: StateSourceOptions
  readonly #observer: UpstreamObserver
  readonly #late: () => Error

  constructor(
    block: PinnedBlock,
    cache: BlockCache,
    reads: StateReads,
    observer: UpstreamObserver,
    late: () => Error,
    options: StateSourceOptions,
  ) {
    this.key = block.key
    this.blockNumber = block.header.number
    this.#block = block
    this.#cache = cache
    this.#reads = reads
    this.#observer = observer
    this.#late = late
    this.#options = options
  }

  async read(reads: readonly StateRead[], signal: AbortSignal): Promise<StateValue[]> {
    signal.throwIfAborted()
    const values: (StateValue | undefined)[] = reads.map((read) => this.#cache.get(readKey(read)))
    const misses = values.reduce<number>((count, value) => (value === undefined ? count + 1 : count), 0)
    this.#observer.onReads?.({ hits: reads.length - misses, misses })
    if (misses === 0) return values as StateValue[]
    this.#count(misses)
    const entries = reads.flatMap((read, index) =>
      values[index] === undefined ? [{ index, ...this.#reads.get(this.#block, this.#cache, read) }] : [],
    )
    for (const { waiting } of entries) waiting.count += 1
    try {
      const shared = Promise.all(entries.map(({ value }) => value))
      const results = await within(shared, { signal, deadline: this.#options.deadline }, this.#late)
      entries.forEach(({ index }, position) => {
        values[index] = results[position]
      })
      return values as StateValue[]
    } finally {
      for (const { waiting } of entries) waiting.count -= 1
    }
  }

  #count(misses: number): void {
    if (this.readsUpstream === 0) this.#options.onFirstMiss?.()
    this.readsUpstream += misses
    if (this.readsUpstream <= this.#options.readLimit) return
    throw new RpcError(
      ErrorCode.limitExceeded,
      `the request reads more than ${this.#options.readLimit} values of state that are not cached`,
      { limit: this.#options.readLimit },
    )
  }
}

import { ErrorCode, type Hash, RpcError } from '@upfront/protocol'
import type { StateLayer, StateRead, StateSource, StateValue } from '@upfront/simulation'
import type { PinnedBlock } from '../block/pinned-block.js'
import type { UpstreamObserver } from '../upstream/upstream-observer.js'
import { within } from '../upstream/within.js'
import { readKey } from './read-call.js'
import type { BlockCache, StateCache } from './state-cache.js'
import type { StateReads } from './state-reads.js'

export interface StateSourceOptions {
  /** Most values that this request may have read from upstream. */
  readLimit: number
  /** `performance.now()` at which reading ends, whatever the node does. */
  deadline: number
  /** Called once, with the first read that the cache can't answer. */
  onFirstMiss?: (cache: BlockCache) => void
}

/** What all requests read through. */
export interface SharedReading {
  cache: StateCache
  reads: StateReads
  observer: UpstreamObserver
  /** What a read that is not over at the deadline fails with. */
  late: () => Error
}

/** One request's view of a pinned block. Made for each request, most of which never read: so it does nothing until then. */
export class UpstreamStateSource implements StateSource {
  readonly key: Hash
  readonly blockNumber: bigint
  readonly layers: readonly StateLayer[] = []
  /** Values that the shared cache did not have. */
  readsUpstream = 0

  constructor(
    private readonly block: PinnedBlock,
    private readonly shared: SharedReading,
    private readonly options: StateSourceOptions,
  ) {
    this.key = block.key
    this.blockNumber = block.header.number
  }

  async read(reads: readonly StateRead[], signal: AbortSignal): Promise<StateValue[]> {
    signal.throwIfAborted()
    const { block, shared, options } = this
    const cache = shared.cache.at(block.key)
    const values: (StateValue | undefined)[] = reads.map((read) => cache.get(readKey(read)))
    const misses = values.reduce<number>((count, value) => (value === undefined ? count + 1 : count), 0)
    shared.observer.onReads?.({ hits: reads.length - misses, misses })
    if (misses === 0) return values as StateValue[]
    this.count(misses, cache)
    const entries = reads.flatMap((read, index) =>
      values[index] === undefined ? [{ index, ...shared.reads.get(block, cache, read) }] : [],
    )
    for (const { waiting } of entries) waiting.count += 1
    try {
      const answers = Promise.all(entries.map(({ value }) => value))
      const results = await within(answers, { signal, deadline: options.deadline }, shared.late)
      entries.forEach(({ index }, position) => {
        values[index] = results[position]
      })
      return values as StateValue[]
    } finally {
      for (const { waiting } of entries) waiting.count -= 1
    }
  }

  private count(misses: number, cache: BlockCache): void {
    const { readLimit, onFirstMiss } = this.options
    if (this.readsUpstream === 0) onFirstMiss?.(cache)
    this.readsUpstream += misses
    if (this.readsUpstream <= readLimit) return
    throw new RpcError(
      ErrorCode.limitExceeded,
      `the request reads more than ${readLimit} values of state that are not cached`,
      { limit: readLimit },
    )
  }
}

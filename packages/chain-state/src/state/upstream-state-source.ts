import type { PinnedBlock } from '@upfront/head'
import type { CancelSignal, UpstreamObserver } from '@upfront/node'
import { within } from '@upfront/node'
import { ErrorCode, type Hash, RpcError } from '@upfront/protocol'
import type { StateLayer, StateRead, StateSource, StateValue } from '@upfront/simulation'
import type { BlockCache, StateCache } from './state-cache.js'
import type { StateReads } from './state-reads.js'

export interface StateSourceOptions {
  /** Most values that this request may have read from upstream. */
  readLimit: number
  /** `performance.now()` at which reading ends, whatever the node does. */
  deadline: number
  /** Called with the reads that the cache can't answer, before they are asked for; `round` counts from 1. */
  onMisses?: (missed: StateRead[], cache: BlockCache, round: number) => void
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
  private rounds = 0

  constructor(
    private readonly block: PinnedBlock,
    private readonly shared: SharedReading,
    private readonly options: StateSourceOptions,
  ) {
    this.key = block.key
    this.blockNumber = block.header.number
  }

  async read(reads: readonly StateRead[], signal: CancelSignal): Promise<StateValue[]> {
    signal.throwIfAborted()
    const { block, shared, options } = this
    const cache = shared.cache.at(block.key)
    const values: (StateValue | undefined)[] = []
    const missed: StateRead[] = []
    for (const read of reads) {
      const value = cache.get(read)
      values.push(value)
      if (value === undefined) missed.push(read)
    }
    shared.observer.onReads?.({ hits: reads.length - missed.length, misses: missed.length })
    if (missed.length === 0) return values as StateValue[]
    this.rounds += 1
    options.onMisses?.(missed, cache, this.rounds)
    this.count(missed.length)
    const asked = shared.reads.ask(block, cache, missed)
    try {
      const results = await within(asked.values, { signal, deadline: options.deadline }, shared.late)
      if (results.length === values.length) return results
      let next = 0
      return values.map((value) => value ?? results[next++]!)
    } finally {
      asked.leave()
    }
  }

  private count(misses: number): void {
    const { readLimit } = this.options
    this.readsUpstream += misses
    if (this.readsUpstream <= readLimit) return
    throw new RpcError(
      ErrorCode.limitExceeded,
      `the request reads more than ${readLimit} values of state that are not cached`,
      { limit: readLimit },
    )
  }
}

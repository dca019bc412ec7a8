import type { PinnedBlock } from '@upfront/head'
import { BlockMoved, BlockResolver, daFootprintScalar, onGuess } from '@upfront/head'
import {
  type Awaitable,
  type CallLimits,
  CallQueue,
  type Cancellation,
  passThrough,
  recovered,
  UpstreamClient,
  UpstreamError,
  UpstreamFault,
  type UpstreamOptions,
} from '@upfront/node'
import type { BlockHeader, BlockParameter } from '@upfront/protocol'
import { type ChainRules, type SimulationPlan, type StateRead, type StateSource } from '@upfront/simulation'
import { Prefetch } from './prefetch/prefetch.js'
import { type ChainRulesOptions, fetchChainRules } from './rules/fetch-chain-rules.js'
import { type BlockCache, StateCache } from './state/state-cache.js'
import { StateReads } from './state/state-reads.js'
import { type SharedReading, UpstreamStateSource } from './state/upstream-state-source.js'

export interface ChainStateOptions extends UpstreamOptions {
  /** Most memory for cached state, bytes, as estimated. */
  cacheBytes?: number
}

export interface StateLimits {
  /** Most values of state that one request may have read from upstream. */
  readLimit?: number
  /** `performance.now()` at which reading ends. */
  deadline?: number
}

const CACHE_BYTES = 48 * 1024 * 1024
const READ_LIMIT = 5_000
const READ_TIMEOUT_MS = 12_000
const MOST_RUNS = 10

/** One chain as its upstream serves it: blocks, and the state of each. */
export class ChainState {
  readonly client: UpstreamClient
  readonly #resolver: BlockResolver
  readonly #reading: SharedReading
  readonly #prefetch: Prefetch

  constructor(options: ChainStateOptions) {
    this.client = new UpstreamClient(options)
    const { label, observer } = this.client
    const queue = new CallQueue(this.client)
    this.#resolver = new BlockResolver(this.client, queue)
    const onWorkaround = (lacks: string) => observer.onWorkaround?.({ upstream: label, lacks })
    const reads = new StateReads(queue, label, onWorkaround)
    const late = () => new UpstreamError(new UpstreamFault('timeout', 'no answer in time'), label, 'reading state', 1)
    this.#reading = { cache: new StateCache(options.cacheBytes ?? CACHE_BYTES), reads, observer, late }
    this.#prefetch = new Prefetch(queue, reads, onWorkaround)
  }

  /**
   * The node's head: asked for after the call, save that requests share an answer for 1 ms, or for 5 ms from 1,000 requests
   * a second on. @throws UpstreamError, or the signal's reason
   */
  async head(limits: CallLimits = {}): Promise<BlockHeader> {
    return this.#resolver.head(limits)
  }

  /**
   * The block that the parameter means now. `latest` is what `head` says; `pending` the node's own block under construction
   * where it offers one, else as `latest`.
   * @throws RpcError -32000 where there is no such block; UpstreamError; the signal's reason
   */
  async resolve(parameter: BlockParameter, limits: CallLimits = {}): Promise<PinnedBlock> {
    return this.#resolver.resolve(parameter, limits)
  }

  /**
   * Resolves the parameter and does the work on that block; anew where the block moved away meanwhile (a reorganisation, or
   * the next pending block). While the node is asked for the head, the work begins on the one that was seen last: it nearly
   * always is the head still. Where it is not, that work was for nothing, its cancellation aborts, and it is done on the head.
   * @param known told of the block that the work's outcome stands on, once it is certain
   * @throws what `resolve` or `work` throws
   */
  onBlock<T>(
    parameter: BlockParameter,
    limits: CallLimits & Cancellation,
    work: (block: PinnedBlock, cancellation: Cancellation) => Awaitable<T>,
    known: (block: PinnedBlock) => void = () => undefined,
    run = 1,
  ): Awaitable<T> {
    const workOn = (block: PinnedBlock) => {
      known(block)
      return work(block, limits)
    }
    return recovered(
      () => {
        const block = this.#resolver.resolve(parameter, limits)
        if (!(block instanceof Promise)) return workOn(block)
        const isHead = parameter.kind === 'tag' && parameter.tag === 'latest'
        const guess = isHead && run === 1 ? this.#resolver.likelyHead() : undefined
        if (guess === undefined) return block.then(workOn)
        return onGuess(guess, block, limits, work, known)
      },
      (error) => {
        if (!(error instanceof BlockMoved) || parameter.kind === 'hash' || run === MOST_RUNS) throw error
        limits.signal.throwIfAborted()
        return this.onBlock(parameter, limits, work, known, run + 1)
      },
    )
  }

  /** The chain's rules and where they came from. @throws ChainMismatch, DecodeError, UpstreamError, or the signal's reason */
  rules(options: ChainRulesOptions = {}, limits: CallLimits = {}): Promise<ChainRules> {
    return fetchChainRules(this.client, options, limits)
  }

  /**
   * The DA footprint's scalar of an OP-stack block from Jovian on; undefined where the node doesn't tell.
   * @throws UpstreamError, or the signal's reason
   */
  daFootprintScalar(block: BlockHeader, limits: CallLimits = {}): Promise<bigint | undefined> {
    return daFootprintScalar(this.client, block, limits)
  }

  /**
   * The block's state for one request. With a plan, what it will touch is read ahead once the cache lacks something, and what
   * it likely will is written into it.
   */
  stateSource(block: PinnedBlock, limits: StateLimits = {}, plan?: SimulationPlan): StateSource {
    const { readLimit = READ_LIMIT, deadline = performance.now() + READ_TIMEOUT_MS } = limits
    if (plan === undefined) return new UpstreamStateSource(block, this.#reading, { readLimit, deadline })
    this.#prefetch.predict(this.#reading.cache, block, plan)
    const onMisses = (missed: StateRead[], cache: BlockCache, round: number) =>
      this.#prefetch.onMisses(block, cache, plan, missed, round)
    return new UpstreamStateSource(block, this.#reading, { readLimit, deadline, onMisses })
  }

  /**
   * Hands a read-only call to the node as it stands. Which methods may pass is the caller's business.
   * @throws UpstreamRefusal, the node's own error; UpstreamError; the signal's reason
   */
  async passThrough(method: string, params: readonly unknown[], limits: CallLimits = {}): Promise<unknown> {
    return passThrough(this.client, method, params, limits)
  }

  async close(): Promise<void> {
    await this.client.close()
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Awaitable,
  type CallLimits,
  type CallQueue,
  type UpstreamCall,
  type UpstreamClient,
  UpstreamError,
  UpstreamFault,
  within,
} from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import { headerFromRpc } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'
import { blockCall } from './block-call.js'
import type { FollowedHead } from './followed-head.js'
import { HeaderCheck } from './header-check.js'
import { SharedLookup } from './shared-lookup.js'

const BACKWARD_REPEATS = 3
const BACKWARD_PAUSE_MS = 25
const MOST_KNOWN = 1_000

/** The head as the node says it: the one place that asks for it, for requests and for who follows it. */
export class AskedHead {
  readonly #label: string
  readonly #queue: CallQueue
  readonly #check: HeaderCheck
  readonly #lookup: SharedLookup<BlockHeader>
  readonly #latest: UpstreamCall<BlockHeader>
  #last: BlockHeader | undefined
  #newestNumber = 0n
  readonly #followed: Pick<FollowedHead, 'newestNumber' | 'noteAsked'> | undefined
  /** Headers that nodes gave. */
  readonly known = new LRUCache<Hash, BlockHeader>({ max: MOST_KNOWN })

  /**
   * @param followed is told of each answer
   * @param check of the chain's headers
   */
  constructor(
    { label }: Pick<UpstreamClient, 'label'>,
    queue: CallQueue,
    followed?: Pick<FollowedHead, 'newestNumber' | 'noteAsked'>,
    check = new HeaderCheck(),
  ) {
    this.#label = label
    this.#queue = queue
    this.#followed = followed
    this.#check = check
    this.#latest = { ...blockCall('latest'), decode: (result) => this.#fromRpc(result), pace: 'prompt' }
    this.#lookup = new SharedLookup(() => this.#ask())
  }

  /**
   * The node's head as of the call, or at most 5 ms older under load.
   * @throws or rejects with UpstreamError, or the signal's reason
   */
  get(limits: CallLimits = {}): Awaitable<BlockHeader> {
    return within(this.#lookup.get(), limits, () => noAnswer(this.#label))
  }

  /** The newest answer, if it was asked for at most so many milliseconds ago. */
  recent(milliseconds: number): BlockHeader | undefined {
    return this.#lookup.recent(milliseconds)
  }

  /**
   * Behind one URL, or two, there may be nodes of which one lags: a head that goes back is asked for again, and believed
   * only if it stays so.
   */
  async #ask(): Promise<BlockHeader> {
    const askedAt = performance.now()
    let header = await this.#once()
    const { newestNumber = 0n } = this.#followed ?? {}
    if (newestNumber > this.#newestNumber) this.#newestNumber = newestNumber
    for (let again = 0; again < BACKWARD_REPEATS && header.number < this.#newestNumber; again += 1) {
      await sleep(BACKWARD_PAUSE_MS)
      header = await this.#once()
    }
    this.#newestNumber = header.number
    this.known.set(header.hash, header)
    this.#followed?.noteAsked(header, askedAt)
    return header
  }

  async #once(): Promise<BlockHeader> {
    const outcome = await this.#queue.send(this.#latest)
    if ('error' in outcome) throw outcome.error
    this.#last = outcome.value
    return outcome.value
  }

  /** Asked for hundreds of times a second, it is nearly always the one that was read before. */
  #fromRpc(result: unknown): BlockHeader {
    const last = this.#last
    if (last !== undefined && hashOf(result) === last.hash) return last
    return this.#check.checked(headerFromRpc(result), result)
  }
}

/** A block was not had of the node in time. */
export function noAnswer(upstream: string): UpstreamError {
  return new UpstreamError(new UpstreamFault('timeout', 'no answer in time'), upstream, 'eth_getBlockByNumber', 1)
}

function hashOf(block: unknown): unknown {
  return typeof block === 'object' && block !== null && 'hash' in block ? block.hash : undefined
}

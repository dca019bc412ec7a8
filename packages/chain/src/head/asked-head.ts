import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Awaitable,
  type CallLimits,
  type CallQueue,
  settled,
  type UpstreamCall,
  type UpstreamClient,
  UpstreamError,
  UpstreamFault,
  within,
} from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import { headerFromRpc, type PinnedBlock } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'
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
    this.#last = settled(await this.#queue.send(this.#latest))
    return this.#last
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

/** The head as it is followed. */
export interface FollowedHead {
  /** The head to stand on without asking; undefined where the node must be asked. */
  current(): PinnedBlock | undefined
  /** A followed block, by its number or its hash; undefined where the node must be asked. */
  header(which: bigint | Hash): BlockHeader | undefined
  /** Learnt milliseconds between blocks; undefined until two heads were seen. */
  readonly intervalMs: number | undefined
  /** The number of the newest head known; 0 where none is followed. */
  readonly newestNumber: bigint
  /** Tells of a head that the node answered with. @param askedAt `performance.now()` when it was asked */
  noteAsked(header: BlockHeader, askedAt: number): void
}

const BLOCK_BYTES = 8 * 1024 * 1024

/**
 * The call that asks for a block's header. A node that does not have the block fails it with a fault of kind `null`.
 * @param at a tag or a number, as JSON-RPC has it, or a hash
 * @param check refuses a header whose hash is not that of its fields
 */
export function blockCall(at: string | { hash: Hash }, check?: HeaderCheck): UpstreamCall<BlockHeader> {
  const byHash = typeof at !== 'string'
  return {
    method: byHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber',
    params: [byHash ? at.hash : at, false],
    decode: (block) => {
      const header = headerFromRpc(block)
      return check === undefined ? header : check.checked(header, block)
    },
    maxBytes: BLOCK_BYTES,
  }
}

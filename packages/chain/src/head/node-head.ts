import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Awaitable,
  type CallLimits,
  type CallQueue,
  type UpstreamCall,
  type UpstreamClient,
  UpstreamError,
  UpstreamFault,
  unwrapOutcome,
  withinLimits,
} from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import { headerFromRpc, type PinnedBlock } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'
import { HeaderCheck } from './header-check.js'
import { SharedLookup } from './shared-lookup.js'

const BACKWARD_REPEATS = 3
const BACKWARD_PAUSE_MS = 25
const MAX_KNOWN = 1_000

/** The node's answer to which block is the head. The only place that asks for it. */
export class NodeHead {
  readonly #label: string
  readonly #queue: CallQueue
  readonly #check: HeaderCheck
  readonly #lookup: SharedLookup<BlockHeader>
  readonly #latest: UpstreamCall<BlockHeader>
  #last: BlockHeader | undefined
  #newestNumber = 0n
  /** The lower head that was confirmed, and what it was lower than: as long as both stay, it is not confirmed again. */
  #lower: { hash: Hash; newestNumber: bigint } | undefined
  readonly #followed: Pick<FollowedHead, 'newestNumber' | 'noteNodeHead'> | undefined
  /** Headers that nodes returned. */
  readonly known = new LRUCache<Hash, BlockHeader>({ max: MAX_KNOWN })

  /**
   * @param followed receives each answer
   * @param check verifies the hashes of headers
   */
  constructor(
    { label }: Pick<UpstreamClient, 'label'>,
    queue: CallQueue,
    followed?: Pick<FollowedHead, 'newestNumber' | 'noteNodeHead'>,
    check = new HeaderCheck(),
  ) {
    this.#label = label
    this.#queue = queue
    this.#followed = followed
    this.#check = check
    this.#latest = { ...blockCall('latest'), decode: (result) => this.#fromRpc(result), pace: 'prompt' }
    this.#lookup = new SharedLookup(() => this.#fetchConfirmed())
  }

  /**
   * The node's head as of the call, or at most 5 ms older under load.
   * @throws or rejects with UpstreamError, or the signal's reason
   */
  get(limits: CallLimits = {}): Awaitable<BlockHeader> {
    return withinLimits(this.#lookup.get(), limits, () => noAnswer(this.#label))
  }

  /** The newest answer, if it was asked for at most this many milliseconds ago. */
  recent(milliseconds: number): BlockHeader | undefined {
    return this.#lookup.recent(milliseconds)
  }

  /** One URL may hide several nodes, one of which lags. A head that goes back is asked for again, and believed only if confirmed. */
  async #fetchConfirmed(): Promise<BlockHeader> {
    const askedAt = performance.now()
    let header = await this.#fetch()
    const { newestNumber = 0n } = this.#followed ?? {}
    if (newestNumber > this.#newestNumber) this.#newestNumber = newestNumber
    const isDoubtful = () =>
      header.number < this.#newestNumber &&
      (header.hash !== this.#lower?.hash || newestNumber !== this.#lower.newestNumber)
    for (let again = 0; again < BACKWARD_REPEATS && isDoubtful(); again += 1) {
      await sleep(BACKWARD_PAUSE_MS)
      header = await this.#fetch()
    }
    this.#lower = header.number < newestNumber ? { hash: header.hash, newestNumber } : undefined
    this.#newestNumber = header.number
    this.known.set(header.hash, header)
    this.#followed?.noteNodeHead(header, askedAt)
    return header
  }

  async #fetch(): Promise<BlockHeader> {
    this.#last = unwrapOutcome(await this.#queue.send(this.#latest))
    return this.#last
  }

  /** Asked hundreds of times a second, the node nearly always returns the same block. */
  #fromRpc(result: unknown): BlockHeader {
    const last = this.#last
    if (last !== undefined && hashOf(result) === last.hash) return last
    return this.#check.check(headerFromRpc(result), result)
  }
}

/** The node did not return a block in time. */
export function noAnswer(upstream: string): UpstreamError {
  return new UpstreamError(new UpstreamFault('timeout', 'no answer in time'), upstream, 'eth_getBlockByNumber', 1)
}

function hashOf(block: unknown): unknown {
  return typeof block === 'object' && block !== null && 'hash' in block ? block.hash : undefined
}

/** The head as followed by `HeadFollower`. */
export interface FollowedHead {
  /** The head to use without asking; undefined if the node must be asked. */
  current(): PinnedBlock | undefined
  /** A followed block by number or hash; undefined if the node must be asked. */
  header(which: bigint | Hash): BlockHeader | undefined
  /** Milliseconds between blocks, as learnt; undefined until two heads were seen. */
  readonly intervalMs: number | undefined
  /** The number of the newest known head; 0 if none is followed. */
  readonly newestNumber: bigint
  /** Reports a head that the node returned. @param askedAt `performance.now()` when it was asked */
  noteNodeHead(header: BlockHeader, askedAt: number): void
}

const BLOCK_BYTES = 8 * 1024 * 1024

/**
 * The call that asks for a block's header. If the node does not have the block, the call fails with a fault of kind `null`.
 * @param at a hash, or a tag or number as JSON-RPC encodes it
 * @param check rejects a header whose hash does not match its fields
 */
export function blockCall(at: string | { hash: Hash }, check?: HeaderCheck): UpstreamCall<BlockHeader> {
  const byHash = typeof at !== 'string'
  return {
    method: byHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber',
    params: [byHash ? at.hash : at, false],
    decode: (block) => {
      const header = headerFromRpc(block)
      return check === undefined ? header : check.check(header, block)
    },
    maxBytes: BLOCK_BYTES,
  }
}

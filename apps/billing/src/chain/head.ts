import { type Hash, type Hex, MAX_SETTLEMENT_SECONDS, SETTLEMENT_MARGIN_SECONDS } from '@upfront/protocol'
import { cacheFor } from './cache-for.js'
import type { Node } from './node.js'

export interface HeadBlock {
  number: bigint
  /** Unix time, in seconds. */
  timestamp: bigint
  /** Wei. */
  baseFeePerGas: bigint
}

const FRESH_MS = 2_000
/** How long a receipt shows that the head is at least its block, although lower heads are read: a node behind others catches up. */
const RECEIPT_COUNTS_MS = 15_000
/** The block time is measured over this many blocks, and cached. */
const PACE_BLOCKS = 10n
const PACE_MAX_AGE_MS = 60_000
/** A transaction sent later than this before a block may miss it. */
const SENDING_SECONDS = 2
/** Ethereum's block time. A chain that mines on demand may have any. */
const SLOWEST_PACE_SECONDS = MAX_SETTLEMENT_SECONDS - SENDING_SECONDS

/** The newest block known to this process. */
export class Head {
  #block: HeadBlock | null = null
  #readAt = 0
  #reading: Promise<HeadBlock> | null = null
  #atLeast = 0n
  /** When a receipt of that block was last read, in milliseconds since 1970. */
  #atLeastReadAt = 0
  /** Average block time of the newest ten blocks, in seconds; undefined if the node does not answer. Read once a minute. */
  readonly blockSeconds = cacheFor(PACE_MAX_AGE_MS, () => this.#readPace().catch(() => undefined))
  readonly #listeners = new Set<() => void>()
  readonly #node: Node

  constructor(node: Node) {
    this.#node = node
  }

  /** Not above the chain's head, except shortly after a reorganisation; 0 before the first read. */
  get number(): bigint {
    const known = this.#block?.number ?? 0n
    return known > this.#atLeast ? known : this.#atLeast
  }

  /** When the head was last read, in milliseconds since 1970; 0: never. */
  get readAt(): number {
    return this.#readAt
  }

  /** Called with the block of a receipt: the head is at least this block. */
  atLeast(number: bigint): void {
    if (number < this.#atLeast) return
    this.#atLeast = number
    this.#atLeastReadAt = Date.now()
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** The head, at most two seconds old and not older than any receipt seen. Throws `NodeFault`. */
  async current(): Promise<HeadBlock> {
    const block = await this.recent()
    return block.number >= this.#atLeast ? block : this.refresh()
  }

  /** The head, at most two seconds old. A receipt may already be from a later block. Throws `NodeFault`. */
  async recent(): Promise<HeadBlock> {
    const block = this.#block
    return block !== null && Date.now() - this.#readAt < FRESH_MS ? block : this.refresh()
  }

  /** Reads the head now. Concurrent callers share one read. Throws `NodeFault`. */
  refresh(): Promise<HeadBlock> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  /** Minimum seconds to a deadline for a transaction sent now: it may miss the next block and need the one after. */
  async settlementSeconds(): Promise<number> {
    return Math.max(SETTLEMENT_MARGIN_SECONDS, Math.ceil(await this.#boundedPace()) + SENDING_SECONDS)
  }

  /** Earliest timestamp of the next block (Unix seconds): nothing sent now is mined before. */
  async nextTimestamp(): Promise<bigint> {
    const pace = BigInt(Math.floor(await this.#boundedPace()))
    const [due, now] = [(this.#block?.timestamp ?? 0n) + pace, this.now()]
    return due > now ? due : now
  }

  async #boundedPace(): Promise<number> {
    return Math.min((await this.blockSeconds()) ?? 0, SLOWEST_PACE_SECONDS)
  }

  async #readPace(): Promise<number | undefined> {
    const { number, timestamp } = await this.recent()
    const blocks = number < PACE_BLOCKS ? number : PACE_BLOCKS
    if (blocks === 0n) return undefined
    const params = [`0x${(number - blocks).toString(16)}`, false]
    const earlier = await this.#node.request<{ timestamp: Hex } | null>('eth_getBlockByNumber', params)
    return earlier === null ? undefined : Number(timestamp - BigInt(earlier.timestamp)) / Number(blocks)
  }

  /** The later of the local clock and the head's timestamp (Unix seconds). Deadlines are compared with it. */
  now(): bigint {
    const clock = BigInt(Math.floor(Date.now() / 1_000))
    const chain = this.#block?.timestamp ?? 0n
    return chain > clock ? chain : clock
  }

  async #read(): Promise<HeadBlock> {
    const found = await this.#node.request<{ number: Hex; timestamp: Hex; baseFeePerGas?: Hex; hash: Hash }>(
      'eth_getBlockByNumber',
      ['latest', false],
    )
    const block = {
      number: BigInt(found.number),
      timestamp: BigInt(found.timestamp),
      baseFeePerGas: BigInt(found.baseFeePerGas ?? 0),
    }
    const changed = block.number !== this.#block?.number
    // A lower head is accepted: a reorganisation, or a local chain that was restarted.
    const isLower = this.#block !== null && block.number < this.#block.number
    if (isLower || Date.now() - this.#atLeastReadAt > RECEIPT_COUNTS_MS) this.#atLeast = 0n
    this.#block = block
    this.#readAt = Date.now()
    if (changed) for (const listener of this.#listeners) listener()
    return block
  }
}

import { type Hash, type Hex, LONGEST_SETTLEMENT_SECONDS, SETTLEMENT_MARGIN_SECONDS } from '@upfront/protocol'
import { aged } from './aged.js'
import type { Node } from './node.js'

export interface HeadBlock {
  number: bigint
  /** Seconds since 1970. */
  timestamp: bigint
  /** Wei. */
  baseFeePerGas: bigint
}

const FRESH_MILLISECONDS = 2_000
/** The pace of a chain is measured over so many blocks, once in this time. */
const PACE_BLOCKS = 10n
const PACE_MAX_AGE_MILLISECONDS = 60_000
/** A transaction that is sent so shortly before a block may miss it. */
const SENDING_SECONDS = 2
/** Ethereum's. A chain that makes blocks on demand has any. */
const SLOWEST_PACE_SECONDS = LONGEST_SETTLEMENT_SECONDS - SENDING_SECONDS

/** The chain's newest block as far as this process knows. */
export class Head {
  #block: HeadBlock | null = null
  #readAt = 0
  #reading: Promise<HeadBlock> | null = null
  #atLeast = 0n
  /** Seconds from one block to the next, of the newest ten; undefined where the node does not say. Read once a minute. */
  readonly blockSeconds = aged(PACE_MAX_AGE_MILLISECONDS, () => this.#readPace().catch(() => undefined))
  readonly #listeners = new Set<() => void>()
  readonly #node: Node

  constructor(node: Node) {
    this.#node = node
  }

  /** Never higher than the chain's; 0 before the first read. */
  get number(): bigint {
    const known = this.#block?.number ?? 0n
    return known > this.#atLeast ? known : this.#atLeast
  }

  /** When a block was last read, in milliseconds; 0: never. */
  get readAt(): number {
    return this.#readAt
  }

  /** A receipt told of this block. */
  atLeast(number: bigint): void {
    if (number > this.#atLeast) this.#atLeast = number
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** At most two seconds old. Throws `NodeFault`. */
  async current(): Promise<HeadBlock> {
    const block = await this.recent()
    return block.number >= this.#atLeast ? block : this.refresh()
  }

  /** At most two seconds old; a receipt may have told of a later one. Throws `NodeFault`. */
  async recent(): Promise<HeadBlock> {
    const block = this.#block
    return block !== null && Date.now() - this.#readAt < FRESH_MILLISECONDS ? block : this.refresh()
  }

  /** Reads the head now; concurrent callers share one read. Throws `NodeFault`. */
  refresh(): Promise<HeadBlock> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  /** How far away a deadline is at least, in seconds, so that what is sent now is mined before it: not in the next block, perhaps, but in the one after. */
  async settlementSeconds(): Promise<number> {
    return Math.max(SETTLEMENT_MARGIN_SECONDS, Math.ceil(await this.#boundedPace()) + SENDING_SECONDS)
  }

  /** When the next block comes at the earliest, in seconds since 1970: nothing that is sent now is mined before. */
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

  /** The later of the clock and the chain's time, in seconds: what a deadline has to be after. */
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
    // A chain that went back (a reorg, a local chain begun anew) is believed.
    if (this.#block !== null && block.number < this.#block.number) this.#atLeast = 0n
    this.#block = block
    this.#readAt = Date.now()
    if (changed) for (const listener of this.#listeners) listener()
    return block
  }
}

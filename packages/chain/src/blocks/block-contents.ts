import {
  type CallLimits,
  type CallQueue,
  malformed,
  raceAbort,
  type UpstreamCall,
  UpstreamError,
  unwrapOutcome,
} from '@upfront/node'
import type { Address, BlockHeader, Hash, Hex, LogFilter } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { keccak256 } from 'viem'
import type { FollowedBlock } from './followed-block.js'

/** Most logs kept over all blocks, in the unit of `weightOfLogs`. */
export const MAX_LOGS = 50_000
/** Characters of a log's data that weigh as much as another log. They are kept up to three times: see `BlockLog`. */
const WEIGHED_CHARACTERS = 512

/** A log of a sealed block, serialised once for all readers. */
export class BlockLog {
  #json: string | undefined
  #removedJson: string | undefined

  /** @param fields as the node gave them */
  constructor(readonly fields: Readonly<Record<string, unknown>>) {}

  get address(): Address {
    return this.fields.address as Address
  }

  get topics(): readonly Hash[] {
    return this.fields.topics as Hash[]
  }

  get blockNumber(): unknown {
    return this.fields.blockNumber
  }

  get json(): string {
    this.#json ??= JSON.stringify(this.fields)
    return this.#json
  }

  /** The log as JSON with `removed: true`, for a reorganisation. */
  get removedJson(): string {
    this.#removedJson ??= JSON.stringify({ ...this.fields, removed: true })
    return this.#removedJson
  }
}

const NONE: readonly BlockLog[] = []
const weights = new WeakMap<readonly BlockLog[], number>()

/** What logs take of the memory for logs: their number, more if they have much data. */
export function weightOfLogs(logs: readonly BlockLog[]): number {
  let weight = weights.get(logs)
  if (weight === undefined) {
    const lengthOf = ({ fields: { data } }: BlockLog) => (typeof data === 'string' ? data.length : 0)
    weight = logs.reduce((sum, log) => sum + 1 + Math.floor(lengthOf(log) / WEIGHED_CHARACTERS), 0)
    weights.set(logs, weight)
  }
  return weight
}

/** Logs of followed blocks, as the node returns them. Read on first use, once for concurrent callers, and kept up to {@link MAX_LOGS}. */
export class BlockLogs {
  readonly #fetched: FetchedOnce<readonly BlockLog[]>

  constructor(queue: CallQueue) {
    this.#fetched = new FetchedOnce(queue, MAX_LOGS, (logs) => 1 + weightOfLogs(logs))
  }

  /**
   * All logs of the block.
   * @throws or rejects with UpstreamError, or the signal's reason
   */
  async of(
    { hash, logsBloom }: Pick<BlockHeader, 'hash' | 'logsBloom'>,
    limits: CallLimits = {},
  ): Promise<readonly BlockLog[]> {
    return hasNoLogs(logsBloom) ? NONE : this.#fetched.of(hash, logsCall(hash), limits)
  }
}

/** Whether a block with this bloom has no logs. */
export function hasNoLogs(logsBloom: Hex): boolean {
  return /^0x0*$/.test(logsBloom)
}

function logsCall(blockHash: Hash): BlockQuestion<BlockLog[]> {
  return {
    method: 'eth_getLogs',
    params: [{ blockHash }],
    decode: (result) => {
      if (!Array.isArray(result)) throw malformed('a list of logs', result)
      return result.map((log) => {
        if (!isLogOf(log, blockHash)) throw malformed(`a log of block ${blockHash}`, log)
        return new BlockLog(log)
      })
    },
  }
}

function isLogOf(log: unknown, block: Hash): log is Record<string, unknown> {
  if (typeof log !== 'object' || log === null) return false
  const { address, topics, blockHash } = log as Record<string, unknown>
  return blockHash === block && typeof address === 'string' && Array.isArray(topics)
}

const ANSWER_BYTES = 32 * 1024 * 1024

/** A call that asks the node about a block. */
export type BlockQuestion<V> = Omit<UpstreamCall<V>, 'maxBytes' | 'isShown'>

/** Contents of blocks that need a call of their own. Each is read on first use, shared by concurrent callers, and kept within a bound. */
export class FetchedOnce<V extends readonly unknown[]> {
  readonly #queue: CallQueue
  readonly #kept: LRUCache<Hash, V>
  readonly #underWay = new Map<Hash, Promise<V>>()

  /**
   * @param most total weight kept
   * @param weigh weight of one block's value, at least 1
   */
  constructor(queue: CallQueue, most: number, weigh: (value: V) => number) {
    this.#queue = queue
    this.#kept = new LRUCache({ maxSize: most, sizeCalculation: weigh })
  }

  /** @throws or rejects with UpstreamError, or the signal's reason */
  async of(block: Hash, call: BlockQuestion<V>, limits: CallLimits): Promise<V> {
    const kept = this.#kept.get(block)
    if (kept !== undefined) return kept
    let asked = this.#underWay.get(block)
    if (asked === undefined) {
      asked = this.#ask(block, { ...call, isShown: true, maxBytes: ANSWER_BYTES }).finally(() =>
        this.#underWay.delete(block),
      )
      this.#underWay.set(block, asked)
    }
    return raceAbort(asked, limits.signal)
  }

  async #ask(block: Hash, call: UpstreamCall<V>): Promise<V> {
    const value = unwrapOutcome(await this.#queue.send(call))
    this.#kept.set(block, value)
    return value
  }
}

/** Most characters of receipts kept, as JSON. */
const MAX_CHARACTERS = 48 * 1024 * 1024

/** Receipts of followed blocks, as the node returns them. Read and kept like {@link BlockLogs}. */
export class BlockReceipts {
  readonly #asked: FetchedOnce<readonly string[]>

  constructor(queue: CallQueue) {
    const weigh = (receipts: readonly string[]) => receipts.reduce((sum, { length }) => sum + length, 1)
    this.#asked = new FetchedOnce(queue, MAX_CHARACTERS, weigh)
  }

  /**
   * @returns each receipt as JSON, in order; undefined if the node gives no valid answer, for example because it lacks the method
   * @throws or rejects with the signal's reason
   */
  async of({ header: { hash }, rpc }: FollowedBlock, limits: CallLimits): Promise<readonly string[] | undefined> {
    const call = receiptsCall(hash, (rpc.transactions as unknown[]).length)
    return this.#asked.of(hash, call, limits).catch((error) => {
      if (error instanceof UpstreamError) return undefined
      throw error
    })
  }
}

function receiptsCall(block: Hash, count: number): BlockQuestion<string[]> {
  return {
    method: 'eth_getBlockReceipts',
    params: [block],
    decode: (result) => {
      const isOfBlock = (receipt: unknown) =>
        typeof receipt === 'object' && receipt !== null && 'blockHash' in receipt && receipt.blockHash === block
      if (!Array.isArray(result) || result.length !== count || !result.every(isOfBlock))
        throw malformed(`the ${count} receipts of block ${block}`, result)
      return result.map((receipt) => JSON.stringify(receipt))
    },
    attempts: 2,
  }
}

const BLOOM_CHARACTERS = 512
/** With more alternatives in one position a bloom filter excludes little, and hashing them takes longer than reading the logs. */
const MAX_ALTERNATIVES = 16

/**
 * Whether a block with this `logsBloom` may have logs that match the filter. The bloom filter is that of the Yellow Paper (4.3.1): three
 * bits of 2,048 for each address and topic.
 */
export function mayHoldLogs(logsBloom: Hex, { addresses, topics }: Pick<LogFilter, 'addresses' | 'topics'>): boolean {
  return [addresses, ...topics].every(
    (alternatives) =>
      alternatives.size === 0 ||
      alternatives.size > MAX_ALTERNATIVES ||
      [...alternatives].some((value) => isIn(logsBloom, value)),
  )
}

function isIn(bloom: Hex, value: Hex): boolean {
  const hash = keccak256(value)
  return [0, 1, 2].every((pair) => {
    const bit = Number.parseInt(hash.slice(2 + 4 * pair, 6 + 4 * pair), 16) & 2_047
    const digit = Number.parseInt(bloom.charAt(2 + BLOOM_CHARACTERS - 1 - (bit >> 2)), 16)
    return (digit & (1 << (bit & 3))) !== 0
  })
}

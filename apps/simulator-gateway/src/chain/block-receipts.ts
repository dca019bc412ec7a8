import { type CallLimits, type CallQueue, malformed, type UpstreamCall, unlessAborted } from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import type { FollowedBlock } from './followed-block.js'

/** Of all kept receipts as JSON. */
const MOST_CHARACTERS = 48 * 1024 * 1024
const ANSWER_BYTES = 32 * 1024 * 1024

/** The receipts of followed blocks as the node gives them, read once a block when somebody asks. */
export class BlockReceipts {
  readonly #queue: CallQueue
  readonly #kept = new LRUCache<Hash, readonly string[]>({
    maxSize: MOST_CHARACTERS,
    sizeCalculation: (receipts) => receipts.reduce((sum, { length }) => sum + length, 1),
  })
  readonly #underWay = new Map<Hash, Promise<readonly string[] | undefined>>()

  constructor(queue: CallQueue) {
    this.#queue = queue
  }

  /**
   * Each as JSON, in order; undefined where the node does not give those of a block by its hash.
   * @throws or rejects with the signal's reason
   */
  async of({ header: { hash }, rpc }: FollowedBlock, { signal }: CallLimits): Promise<readonly string[] | undefined> {
    const kept = this.#kept.get(hash)
    if (kept !== undefined) return kept
    let asked = this.#underWay.get(hash)
    if (asked === undefined) {
      asked = this.#ask(hash, (rpc.transactions as unknown[]).length).finally(() => this.#underWay.delete(hash))
      this.#underWay.set(hash, asked)
    }
    return signal === undefined ? asked : unlessAborted(asked, signal)
  }

  async #ask(hash: Hash, count: number): Promise<readonly string[] | undefined> {
    const outcome = await this.#queue.send(receiptsCall(hash, count))
    if ('error' in outcome) return undefined
    this.#kept.set(hash, outcome.value)
    return outcome.value
  }
}

function receiptsCall(block: Hash, count: number): UpstreamCall<string[]> {
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
    isShown: true,
    maxBytes: ANSWER_BYTES,
    attempts: 2,
  }
}

import { type CallLimits, type CallQueue, malformed, UpstreamError } from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import { AskedOnce, type BlockQuestion } from './asked-once.js'
import type { FollowedBlock } from './followed-block.js'

/** Of all kept receipts as JSON. */
const MOST_CHARACTERS = 48 * 1024 * 1024

/** The receipts of followed blocks as the node gives them, read once a block when somebody asks. */
export class BlockReceipts {
  readonly #asked: AskedOnce<readonly string[]>

  constructor(queue: CallQueue) {
    const weigh = (receipts: readonly string[]) => receipts.reduce((sum, { length }) => sum + length, 1)
    this.#asked = new AskedOnce(queue, MOST_CHARACTERS, weigh)
  }

  /**
   * Each as JSON, in order; undefined where the node does not give those of a block by its hash.
   * @throws or rejects with the signal's reason
   */
  async of({ header: { hash }, rpc }: FollowedBlock, { signal }: CallLimits): Promise<readonly string[] | undefined> {
    const call = receiptsCall(hash, (rpc.transactions as unknown[]).length)
    return this.#asked.of(hash, call, signal).catch((error) => {
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

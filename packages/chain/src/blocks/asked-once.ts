import { type CallQueue, type CancelSignal, type UpstreamCall, unlessAborted } from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'

const ANSWER_BYTES = 32 * 1024 * 1024

/** What is asked of a block. */
export type BlockQuestion<V> = Omit<UpstreamCall<V>, 'maxBytes' | 'isShown'>

/** What the node says of a block beside the block itself: asked once for all who need it, when the first does. */
export class AskedOnce<V extends readonly unknown[]> {
  readonly #queue: CallQueue
  readonly #kept: LRUCache<Hash, V>
  readonly #underWay = new Map<Hash, Promise<V>>()

  /**
   * @param most of all that is kept, in the unit of `weigh`
   * @param weigh of what is kept of one block, at least 1
   */
  constructor(queue: CallQueue, most: number, weigh: (value: V) => number) {
    this.#queue = queue
    this.#kept = new LRUCache({ maxSize: most, sizeCalculation: weigh })
  }

  /** @throws or rejects with UpstreamError, or the signal's reason */
  async of(block: Hash, call: BlockQuestion<V>, signal?: CancelSignal): Promise<V> {
    const kept = this.#kept.get(block)
    if (kept !== undefined) return kept
    let asked = this.#underWay.get(block)
    if (asked === undefined) {
      asked = this.#ask(block, { ...call, isShown: true, maxBytes: ANSWER_BYTES }).finally(() =>
        this.#underWay.delete(block),
      )
      this.#underWay.set(block, asked)
    }
    return unlessAborted(asked, signal)
  }

  async #ask(block: Hash, call: UpstreamCall<V>): Promise<V> {
    const outcome = await this.#queue.send(call)
    if ('error' in outcome) throw outcome.error
    this.#kept.set(block, outcome.value)
    return outcome.value
  }
}

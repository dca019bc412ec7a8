import { type CallLimits, passThrough, type UpstreamClient, UpstreamError, UpstreamRefusal } from '@upfront/node'
import type { Hash } from '@upfront/protocol'

/** How long a node is not asked again: 10 minutes after it refused, one minute after a failed request or a wrong list. */
const REFUSAL_LASTS_MS = 600_000
const FAULT_LASTS_MS = 60_000

/** Fetches block access lists (EIP-7928) from the node. */
export class AccessLists {
  readonly #client: Pick<UpstreamClient, 'call'>
  #pausedUntil = 0

  constructor(client: Pick<UpstreamClient, 'call'>) {
    this.#client = client
  }

  /**
   * The block's list as JSON, unverified; undefined if the node does not serve it.
   * @throws or rejects with the signal's reason
   */
  async fetch(block: Hash, limits: CallLimits): Promise<string | undefined> {
    if (this.#pausedUntil > performance.now()) return undefined
    try {
      // No retries: the list is checked by its hash, and the block can be executed instead.
      const options = { attempts: 1, isShown: false }
      const list = await passThrough(this.#client, 'eth_getBlockAccessList', [block], limits, options)
      return list === 'null' ? undefined : list
    } catch (error) {
      if (error instanceof UpstreamRefusal) this.pause(REFUSAL_LASTS_MS)
      else if (error instanceof UpstreamError) this.pause()
      else throw error
      return undefined
    }
  }

  /** Stops asking the node for this many milliseconds. */
  pause(ms = FAULT_LASTS_MS): void {
    this.#pausedUntil = performance.now() + ms
  }
}

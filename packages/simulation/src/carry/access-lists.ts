import { type CallLimits, passThrough, type UpstreamClient, UpstreamError, UpstreamRefusal } from '@upfront/node'
import type { Hash } from '@upfront/protocol'

/** A node that refuses is not asked for so long; one that could not be asked, or whose list was false, for a minute. */
const REFUSAL_LASTS_MS = 600_000
const FAULT_LASTS_MS = 60_000

/** The node's lists of what blocks access and change (EIP-7928). */
export class AccessLists {
  readonly #client: Pick<UpstreamClient, 'call'>
  #pausedUntil = 0

  constructor(client: Pick<UpstreamClient, 'call'>) {
    this.#client = client
  }

  /**
   * JSON of the block's list, as the node says; undefined where it does not serve it.
   * @throws or rejects with the signal's reason
   */
  async of(block: Hash, limits: CallLimits): Promise<string | undefined> {
    if (this.#pausedUntil > performance.now()) return undefined
    try {
      // Its hash tells whether it is the block's list.
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

  /** Has the node not asked for so many milliseconds. */
  pause(ms = FAULT_LASTS_MS): void {
    this.#pausedUntil = performance.now() + ms
  }
}

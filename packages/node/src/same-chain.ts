import type { CancelSignal } from './cancellation.js'
import { decodeQuantity } from './decode-result.js'
import type { Endpoint } from './endpoint.js'
import { encodeCalls, matchAnswers } from './json-rpc-batch.js'
import { UpstreamFault } from './upstream-fault.js'

/** Sees to it that all URLs serve the chain of the one that answered first: state of another would be wrong in silence. */
export class SameChain {
  readonly #checked = new WeakSet<Endpoint>()
  #chainId: bigint | undefined

  /** Asks an endpoint that was not asked before. @throws UpstreamFault, or the signal's reason */
  async check(endpoint: Endpoint, timeoutMs: number, signal: CancelSignal | undefined): Promise<void> {
    if (this.#checked.has(endpoint)) return
    const text = await endpoint.post(encodeCalls([{ method: 'eth_chainId', params: [] }], 0), {
      maxBytes: 4_096,
      timeoutMs,
      ...(signal === undefined ? {} : { signal }),
    })
    const [answer] = matchAnswers(text, 0, 1)
    if ('fault' in answer!) throw answer.fault
    const chainId = decodeQuantity(answer!.result)
    this.#chainId ??= chainId
    if (chainId !== this.#chainId)
      throw new UpstreamFault('wrong-chain', `serves chain ${chainId}, the other upstream chain ${this.#chainId}`)
    this.#checked.add(endpoint)
  }
}

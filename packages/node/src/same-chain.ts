import { decodeQuantity } from './decode-result.js'
import type { Endpoint } from './endpoint.js'
import { type CallResult, encodeCalls, matchAnswers } from './json-rpc-batch.js'
import type { PostLimits } from './post.js'
import { UpstreamFault } from './upstream-fault.js'

export const CHAIN_ID_CALL = { method: 'eth_chainId', params: [] }
/** How long an endpoint's chain id is trusted, if the chain is configured. */
const CHAIN_ID_TRUSTED_MS = 10_000

/**
 * Ensures that all endpoints serve one chain: state of another chain would give wrong results without an error.
 * The chain is configured, or that of the endpoint that answered first.
 */
export class SameChain {
  readonly #checkedAt = new WeakMap<Endpoint, number>()
  readonly #trustedMs: number
  #chainId: bigint | undefined

  constructor(chainId: number | undefined) {
    this.#chainId = chainId === undefined ? undefined : BigInt(chainId)
    this.#trustedMs = chainId === undefined ? Number.POSITIVE_INFINITY : CHAIN_ID_TRUSTED_MS
  }

  /** Asks an endpoint for its chain id unless it answered recently. @throws UpstreamFault, or the signal's reason */
  async check(endpoint: Endpoint, limits: Omit<PostLimits, 'maxBytes'>): Promise<void> {
    const checkedAt = this.#checkedAt.get(endpoint)
    if (checkedAt !== undefined && performance.now() - checkedAt < this.#trustedMs) return
    await this.fetchChainId(endpoint, limits)
  }

  /** @throws UpstreamFault, or the signal's reason */
  async fetchChainId(endpoint: Endpoint, limits: Omit<PostLimits, 'maxBytes'>): Promise<void> {
    const text = await endpoint.post(encodeCalls([CHAIN_ID_CALL], 0), { ...limits, maxBytes: 4_096 })
    this.acceptChainId(endpoint, matchAnswers(text, 0, 1, endpoint.secrets)[0]!)
  }

  /** @param answer to `eth_chainId` @throws UpstreamFault, never with a JSON-RPC error, which would be about the call */
  acceptChainId(endpoint: Endpoint, answer: CallResult): void {
    if ('fault' in answer) throw new UpstreamFault('malformed', `no chain id: ${answer.fault.message}`)
    const chainId = decodeQuantity(answer.result)
    this.#chainId ??= chainId
    if (chainId !== this.#chainId)
      throw new UpstreamFault('wrong-chain', `serves chain ${chainId}, not chain ${this.#chainId}`, { chainId })
    this.#checkedAt.set(endpoint, performance.now())
  }

  /** After a failure another node may answer behind the same URL, so the chain id is checked again. */
  invalidate(endpoint: Endpoint): void {
    if (this.#trustedMs !== Number.POSITIVE_INFINITY) this.#checkedAt.delete(endpoint)
  }
}

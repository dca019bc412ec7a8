import type { CircuitState, UpstreamClient } from '@upfront/node'
import { blockCall } from './node-head.js'
import { findStraying, type SeenHead, type Straying } from './straying.js'

const MIN_INTERVAL_MS = 2_000
const MAX_INTERVAL_MS = 15_000
/** Nodes answer at different moments. Blocks made within this time are no disagreement. */
const SKEW_MS = 1_000
/** How often other nodes must advance while one does not, before it counts as stuck. */
const STUCK_AFTER = 2

export interface UpstreamStatus {
  /** Host and port. */
  upstream: string
  circuit: CircuitState
  /** Set if there are several nodes and this one was asked recently. */
  head?: bigint
  strays?: Straying
}

/**
 * Asks all URLs for their heads once a block (every 2 s to 15 s) while the client is used, and excludes nodes whose head the others
 * contradict: see `findStraying`. With one URL it does nothing.
 */
export class HeadAgreement {
  readonly #heads: (SeenHead | undefined)[]
  /** How often other nodes advanced since this one did. */
  readonly #behind: number[]
  #sent = 0
  #timer: NodeJS.Timeout | undefined
  readonly #client: UpstreamClient
  readonly #intervalMs: () => number | undefined
  readonly #onChange: (upstream: string, strays: Straying | undefined) => void

  /**
   * @param intervalMs milliseconds between blocks; undefined until learnt
   * @param onChange called when a node begins or stops straying
   */
  constructor(
    client: UpstreamClient,
    intervalMs: () => number | undefined = () => undefined,
    onChange: (upstream: string, strays: Straying | undefined) => void = () => undefined,
  ) {
    this.#client = client
    this.#intervalMs = intervalMs
    this.#onChange = onChange
    this.#heads = client.endpoints.map(() => undefined)
    this.#behind = client.endpoints.map(() => 0)
    if (client.endpoints.length > 1) this.#schedule()
  }

  status(): UpstreamStatus[] {
    return this.#client.endpoints.map(({ label, circuit, strays }, node) => {
      const head = this.#heads[node]?.number
      return {
        upstream: label,
        circuit: circuit.state,
        ...(head !== undefined && { head }),
        ...(strays !== undefined && { strays: strays as Straying }),
      }
    })
  }

  /** Compares once; the timer calls it too. */
  async compare(): Promise<void> {
    const heads = await this.#client.askEach(blockCall('latest'))
    const moved = heads.map((head, node) => head !== undefined && head.hash !== this.#heads[node]?.hash)
    for (const [node, head] of heads.entries()) {
      if (moved[node]) this.#behind[node] = 0
      else if (moved.includes(true)) this.#behind[node]! += 1
      this.#heads[node] = head
    }
    const slack = BigInt(Math.ceil(Math.max(1, SKEW_MS / (this.#intervalMs() ?? SKEW_MS))))
    const isStuck = this.#behind.map((count) => count >= STUCK_AFTER)
    this.#setStraying(findStraying(heads, isStuck, slack))
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #setStraying(found: readonly (Straying | undefined)[]): void {
    for (const [node, endpoint] of this.#client.endpoints.entries()) {
      const strays = found[node]
      if (endpoint.strays === strays) continue
      endpoint.strays = strays
      this.#onChange(endpoint.label, strays)
    }
  }

  #schedule(): void {
    const inMs = Math.min(Math.max(this.#intervalMs() ?? 0, MIN_INTERVAL_MS), MAX_INTERVAL_MS)
    this.#timer = setTimeout(() => void this.#compareWhileUsed(), inMs).unref()
  }

  async #compareWhileUsed(): Promise<void> {
    const { sent } = this.#client
    if (sent === this.#sent) this.#setStraying([])
    else await this.compare().catch(() => undefined)
    this.#sent = sent
    if (this.#timer !== undefined) this.#schedule()
  }
}

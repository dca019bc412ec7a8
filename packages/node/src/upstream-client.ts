import { pause } from './cancellation.js'
import type { CircuitState } from './circuit.js'
import { Endpoint } from './endpoint.js'
import { Exchanges, openCircuit, type Settled } from './exchanges.js'
import { backoff, maxAttempts } from './retry-policy.js'
import { SameChain } from './same-chain.js'
import { type CallLimits, type CallOutcome, type UpstreamCall, unwrapOutcome } from './upstream-call.js'
import { UpstreamError, type UpstreamFault } from './upstream-fault.js'
import type { UpstreamObserver } from './upstream-observer.js'
import { isSlowerThan } from './within-limits.js'

export interface UpstreamOptions {
  /** One or more http(s) URLs, the preferred one first. User info becomes basic authorization. */
  urls: readonly string[]
  /**
   * The chain that the nodes must serve. Every HTTP request then also asks for the chain id, and answers of
   * nodes on another chain are discarded; a `slow` call, and any to a node without batches, is sent alone, at most
   * 10 s after a check of the node.
   * Without it, all URLs must serve the chain of the one that answers first.
   */
  chainId?: number
  /** Time limit of one attempt, milliseconds. */
  attemptTimeoutMs?: number
  /** Time limit of a call with all its attempts, milliseconds. A caller's deadline may be sooner. */
  callTimeoutMs?: number
  /** Most calls in one HTTP request. */
  maxBatch?: number
  /** Most connections to each URL. */
  connections?: number
  observer?: UpstreamObserver
}

interface OpenCall<T> {
  call: UpstreamCall<T>
  index: number
}

/**
 * JSON-RPC over HTTP to one chain behind one or more URLs: batches, bounded answers, retries with backoff,
 * failover. Every error names the upstream and never contains its credentials.
 */
export class UpstreamClient {
  readonly endpoints: readonly Endpoint[]
  readonly observer: UpstreamObserver
  readonly #attemptTimeoutMs: number
  readonly #callTimeoutMs: number
  readonly #sameChain: SameChain
  readonly #exchanges: Exchanges
  /** Number of calls sent, without those of `askEach`. */
  sent = 0

  constructor(options: UpstreamOptions) {
    const { connections = 32, maxBatch = 1_000 } = options
    this.observer = options.observer ?? {}
    const onCircuit = (upstream: string, state: CircuitState) => this.observer.onCircuit?.({ upstream, state })
    this.endpoints = options.urls.map((url) => new Endpoint(new URL(url), { connections, maxBatch, onCircuit }))
    if (this.endpoints.length === 0) throw new Error('at least one upstream URL is needed')
    this.#attemptTimeoutMs = options.attemptTimeoutMs ?? 3_000
    this.#callTimeoutMs = options.callTimeoutMs ?? 12_000
    this.#sameChain = new SameChain(options.chainId)
    this.#exchanges = new Exchanges(this.#sameChain, this.observer, this.#attemptTimeoutMs, {
      asksChainId: options.chainId !== undefined,
      hasOthers: this.endpoints.length > 1,
    })
  }

  /** The preferred upstream's host and port. */
  get label(): string {
    return this.endpoints[0]!.label
  }

  /** @throws UpstreamError, or the signal's reason */
  async call<T>(call: UpstreamCall<T>, limits: CallLimits = {}): Promise<T> {
    const [outcome] = await this.batch([call], limits)
    return unwrapOutcome(outcome!)
  }

  /** Asks every usable node once, without retries. @returns their answers in the order of the URLs */
  askEach<T>(call: UpstreamCall<T>, limits: CallLimits = {}): Promise<(T | undefined)[]> {
    const deadline = Math.min(limits.deadline ?? Number.POSITIVE_INFINITY, performance.now() + this.#attemptTimeoutMs)
    return Promise.all(
      this.endpoints.map(async (endpoint) => {
        if (!this.#isUsable(endpoint)) return undefined
        const [settled] = await this.#exchanges.send(endpoint, [call], deadline, limits)
        return settled !== undefined && 'value' in settled ? settled.value : undefined
      }),
    )
  }

  /**
   * Sends the calls in as few HTTP requests as the node allows. Outcomes are in the order of the calls; each call fails on its own.
   * `onOutcome` is called for each as soon as it is final, so retries of one don't delay the others.
   * @throws the signal's reason
   */
  async batch<T>(
    calls: readonly UpstreamCall<T>[],
    limits: CallLimits = {},
    onOutcome?: (index: number, outcome: CallOutcome<T>) => void,
  ): Promise<CallOutcome<T>[]> {
    const deadline = Math.min(limits.deadline ?? Number.POSITIVE_INFINITY, performance.now() + this.#callTimeoutMs)
    const outcomes = new Array<CallOutcome<T>>(calls.length)
    let open: OpenCall<T>[] = calls.map((call, index) => ({ call, index }))
    let endpoint = this.#pick(undefined)
    this.sent += calls.length
    for (let attempt = 1; ; attempt += 1) {
      const answers = await this.#attempt(endpoint, open, deadline, limits)
      const again: OpenCall<T>[] = []
      let retryAfter = 0
      open.forEach((entry, position) => {
        const answer = answers[position]!
        const { call, index } = entry
        const outcome =
          'value' in answer ? answer : { error: new UpstreamError(answer.fault, endpoint.label, call.method, attempt) }
        outcomes[index] = outcome
        if ('value' in answer || attempt >= this.#maxAttempts(call, answer.fault) || call.isWanted?.() === false) {
          onOutcome?.(index, outcome)
          return
        }
        retryAfter = Math.max(retryAfter, answer.fault.detail.retryAfter ?? 0)
        again.push(entry)
      })
      if (again.length === 0) return outcomes
      const next = this.#pick(endpoint)
      const wait = next !== endpoint && attempt < this.endpoints.length ? 0 : backoff(attempt, retryAfter)
      if (performance.now() + wait >= deadline) {
        for (const { index } of again) onOutcome?.(index, outcomes[index]!)
        return outcomes
      }
      for (const { call, index } of again) this.#observeRetry(endpoint, call, outcomes[index]!)
      if (wait > 0) await pause(wait, limits.signal)
      open = again
      endpoint = next
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.endpoints.map((endpoint) => endpoint.close()))
  }

  /** The first usable endpoint that did not just fail. A straying one is used only if no other is usable. If none is, the next in order. */
  #pick(failed: Endpoint | undefined): Endpoint {
    const usable = this.endpoints.filter((endpoint) => this.#isUsable(endpoint))
    const straight = usable.filter(({ strays }) => strays === undefined)
    const among = straight.length > 0 ? straight : usable
    const best = among.find((endpoint) => endpoint !== failed) ?? among[0]
    if (best !== undefined) return best
    const turn = failed === undefined ? 0 : this.endpoints.indexOf(failed) + 1
    return this.endpoints[turn % this.endpoints.length]!
  }

  #isUsable(endpoint: Endpoint): boolean {
    if (this.endpoints.length > 1 && endpoint.circuit.isDue) void this.#probe(endpoint)
    return endpoint.circuit.state === 'closed'
  }

  /** Probes a node that was left out, so that no user's call has to wait for the result. */
  async #probe(endpoint: Endpoint): Promise<void> {
    endpoint.circuit.halfOpen()
    try {
      await this.#sameChain.fetchChainId(endpoint, { timeoutMs: this.#attemptTimeoutMs })
      endpoint.circuit.succeeded(false)
    } catch (error) {
      openCircuit(endpoint, error)
    }
  }

  #maxAttempts(call: UpstreamCall<unknown>, fault: UpstreamFault): number {
    return fault.kind === 'wrong-chain' && this.endpoints.length === 1 ? 1 : maxAttempts(call, fault)
  }

  #attempt<T>(endpoint: Endpoint, open: OpenCall<T>[], deadline: number, limits: CallLimits): Promise<Settled<T>[]> {
    const size = endpoint.batchLimit
    const chunks: UpstreamCall<T>[][] = []
    for (let from = 0; from < open.length; from += size)
      chunks.push(open.slice(from, from + size).map((entry) => entry.call))
    const exchanges = chunks.map((chunk) => this.#sendHedged(endpoint, chunk, deadline, limits))
    return exchanges.length === 1 ? exchanges[0]! : Promise.all(exchanges).then((answers) => answers.flat())
  }

  /** Like `Exchanges.send`, but asks a second node too if the first is slower than its 95th percentile. The first good answers count. */
  async #sendHedged<T>(
    endpoint: Endpoint,
    calls: UpstreamCall<T>[],
    deadline: number,
    limits: CallLimits,
  ): Promise<Settled<T>[]> {
    const first = this.#exchanges.send(endpoint, calls, deadline, limits)
    const { slowMs } = endpoint.latencies
    if (this.endpoints.length === 1 || slowMs === undefined || !calls.every(({ mayHedge }) => mayHedge)) return first
    if (!(await isSlowerThan(first, slowMs))) return first
    const other = this.#pick(endpoint)
    if (other === endpoint || other.circuit.state !== 'closed') return first
    const second = this.#exchanges.send(other, calls, deadline, limits)
    return new Promise((resolve, reject) => {
      let open = 2
      for (const asked of [first, second])
        asked.then((answers) => {
          open -= 1
          const isGood = answers.some((answer) => 'value' in answer)
          if (open === 1 && isGood) this.observer.onHedge?.({ upstream: other.label, isFirst: asked === second })
          if (isGood || open === 0) resolve(answers)
        }, reject)
    })
  }

  #observeRetry(endpoint: Endpoint, { method }: UpstreamCall<unknown>, outcome: CallOutcome<unknown>): void {
    if ('error' in outcome)
      this.observer.onRetry?.({ upstream: endpoint.label, method, fault: outcome.error.fault.kind })
  }
}

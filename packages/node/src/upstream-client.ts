import { type CancelSignal, pause } from './cancellation.js'
import type { CircuitState } from './circuit.js'
import { Endpoint } from './endpoint.js'
import { type Answer, encodeCalls, matchAnswers } from './json-rpc-batch.js'
import { backoff, isRateLimit, mostAttempts, refusesBatches } from './retry-policy.js'
import { CHAIN_ID_CALL, SameChain } from './same-chain.js'
import type { CallLimits, CallOutcome, UpstreamCall } from './upstream-call.js'
import { UpstreamError, UpstreamFault } from './upstream-fault.js'
import type { UpstreamObserver } from './upstream-observer.js'

export interface UpstreamOptions {
  /** One or more http(s) URLs, the preferred one first. User info becomes basic authorization. */
  urls: readonly string[]
  /**
   * The chain that the nodes must serve. Every HTTP request then asks for the chain id too, and nothing that a node of another
   * chain answers is believed; a `slow` call goes alone, to a node that was asked at most 10 s before. Without it, several URLs
   * must serve the chain of the one that answers first.
   */
  chainId?: number
  /** For one attempt, milliseconds. */
  attemptTimeoutMs?: number
  /** For a call with all its attempts, milliseconds; a caller's own deadline may be sooner. */
  callTimeoutMs?: number
  /** Most calls in one HTTP request. */
  maxBatch?: number
  /** Most connections to each URL. */
  connections?: number
  observer?: UpstreamObserver
}

const WRONG_CHAIN_REST_MS = 60_000
/** Of one HTTP answer, whatever its calls may have together. */
const ANSWER_MOST_BYTES = 64 * 1024 * 1024
/** What the envelope of one call may take, beside its result. */
const ENVELOPE_BYTES = 1_024

type Settled<T> = { value: T } | { fault: UpstreamFault }

interface OpenCall<T> {
  call: UpstreamCall<T>
  index: number
}

/**
 * JSON-RPC over HTTP to one chain behind one or more URLs: batches, bounded answers, retries with backoff, failover.
 * Every failure names the upstream and never holds its credentials.
 */
export class UpstreamClient {
  readonly endpoints: readonly Endpoint[]
  readonly observer: UpstreamObserver
  readonly #attemptTimeoutMs: number
  readonly #callTimeoutMs: number
  readonly #sameChain: SameChain
  readonly #chainId: number | undefined
  #nextId = 1
  /** Calls that were sent, those of `askEach` not counted. */
  sent = 0

  constructor(options: UpstreamOptions) {
    const { connections = 32, maxBatch = 1_000 } = options
    this.observer = options.observer ?? {}
    const onCircuit = (upstream: string, state: CircuitState) => this.observer.onCircuit?.({ upstream, state })
    this.endpoints = options.urls.map((url) => new Endpoint(new URL(url), { connections, maxBatch, onCircuit }))
    if (this.endpoints.length === 0) throw new Error('at least one upstream URL is needed')
    this.#attemptTimeoutMs = options.attemptTimeoutMs ?? 3_000
    this.#callTimeoutMs = options.callTimeoutMs ?? 12_000
    this.#chainId = options.chainId
    this.#sameChain = new SameChain(options.chainId)
  }

  /** The preferred upstream's host and port. */
  get label(): string {
    return this.endpoints[0]!.label
  }

  /** @throws UpstreamError, or the signal's reason */
  async call<T>(call: UpstreamCall<T>, limits: CallLimits = {}): Promise<T> {
    const [outcome] = await this.batch([call], limits)
    if ('error' in outcome!) throw outcome.error
    return outcome!.value
  }

  /** Asks every node that is not left out once, and no other instead. @returns what each said, by its place among the URLs */
  askEach<T>(call: UpstreamCall<T>, limits: CallLimits = {}): Promise<(T | undefined)[]> {
    const deadline = Math.min(limits.deadline ?? Number.POSITIVE_INFINITY, performance.now() + this.#attemptTimeoutMs)
    return Promise.all(
      this.endpoints.map(async (endpoint) => {
        if (!this.#isUsable(endpoint)) return undefined
        const [settled] = await this.#exchange(endpoint, [call], deadline, limits.signal)
        return settled !== undefined && 'value' in settled ? settled.value : undefined
      }),
    )
  }

  /**
   * Sends the calls in as few HTTP requests as the node allows. Outcomes come in the order of the calls; one call's failure
   * is not another's. `onOutcome` hears of each as soon as it is final: one call's retries don't hold up the others.
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
      const answers = await this.#attempt(endpoint, open, deadline, limits.signal)
      const again: OpenCall<T>[] = []
      let retryAfter = 0
      open.forEach((entry, position) => {
        const answer = answers[position]!
        const { call, index } = entry
        const outcome =
          'value' in answer ? answer : { error: new UpstreamError(answer.fault, endpoint.label, call.method, attempt) }
        outcomes[index] = outcome
        if ('value' in answer || attempt >= this.#mostAttempts(call, answer.fault) || call.isWanted?.() === false) {
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

  /**
   * The first that is not left out and did not fail just now. One that strays is asked only where all others are left out; if there is
   * none at all, the next in turn.
   */
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
    if (this.endpoints.length > 1 && endpoint.circuit.isDue) void this.#try(endpoint)
    return endpoint.circuit.state === 'closed'
  }

  /** Asks a node that was left out whether it is there again, so that no user's call has to wait for that. */
  async #try(endpoint: Endpoint): Promise<void> {
    endpoint.circuit.try()
    try {
      await this.#sameChain.ask(endpoint, { timeoutMs: this.#attemptTimeoutMs })
      endpoint.circuit.succeeded(false)
    } catch (error) {
      this.#leaveOut(endpoint, error)
    }
  }

  #leaveOut(endpoint: Endpoint, error: unknown): void {
    const isOfAnotherChain = error instanceof UpstreamFault && error.kind === 'wrong-chain'
    endpoint.circuit.failed(isOfAnotherChain ? WRONG_CHAIN_REST_MS : undefined)
  }

  #mostAttempts(call: UpstreamCall<unknown>, fault: UpstreamFault): number {
    return fault.kind === 'wrong-chain' && this.endpoints.length === 1 ? 1 : mostAttempts(call, fault)
  }

  #attempt<T>(
    endpoint: Endpoint,
    open: OpenCall<T>[],
    deadline: number,
    signal: CancelSignal | undefined,
  ): Promise<({ value: T } | { fault: UpstreamFault })[]> {
    const size = endpoint.batchLimit
    const chunks: UpstreamCall<T>[][] = []
    for (let from = 0; from < open.length; from += size)
      chunks.push(open.slice(from, from + size).map((entry) => entry.call))
    const exchanges = chunks.map((chunk) => this.#hedged(endpoint, chunk, deadline, signal))
    return exchanges.length === 1 ? exchanges[0]! : Promise.all(exchanges).then((answers) => answers.flat())
  }

  /** `#exchange`, and the same with another node once the first is slower than 95 of 100 answers: the first good answers count. */
  async #hedged<T>(
    endpoint: Endpoint,
    calls: UpstreamCall<T>[],
    deadline: number,
    signal: CancelSignal | undefined,
  ): Promise<Settled<T>[]> {
    const first = this.#exchange(endpoint, calls, deadline, signal)
    const { slowMs } = endpoint.latencies
    if (this.endpoints.length === 1 || slowMs === undefined || !calls.every(({ mayHedge }) => mayHedge)) return first
    if (!(await outlasts(first, slowMs))) return first
    const other = this.#pick(endpoint)
    if (other === endpoint || other.circuit.state !== 'closed') return first
    const second = this.#exchange(other, calls, deadline, signal)
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

  async #exchange<T>(
    endpoint: Endpoint,
    calls: UpstreamCall<T>[],
    deadline: number,
    signal: CancelSignal | undefined,
  ): Promise<Settled<T>[]> {
    const firstId = this.#nextId
    this.#nextId += calls.length + 1
    const started = performance.now()
    let patience = this.#attemptTimeoutMs
    let maxBytes = 0
    for (const call of calls) {
      patience = Math.max(patience, call.attemptTimeoutMs ?? 0)
      maxBytes += call.maxBytes + ENVELOPE_BYTES
    }
    const timeoutMs = Math.ceil(Math.max(1, Math.min(patience, deadline - started)))
    const asksChainId = this.#chainId !== undefined
    const withChainId = asksChainId && endpoint.batchLimit > 1 && !calls.some(({ pace }) => pace === 'slow')
    const sent = withChainId ? [CHAIN_ID_CALL, ...calls] : calls
    try {
      if (!withChainId && (asksChainId || this.endpoints.length > 1))
        await this.#sameChain.check(endpoint, { timeoutMs, signal })
      const limits = { maxBytes: Math.min(maxBytes, ANSWER_MOST_BYTES), timeoutMs, signal }
      const text = await endpoint.post(encodeCalls(sent, firstId), limits)
      const answers = matchAnswers(text, firstId, sent.length, endpoint.secrets)
      if (withChainId) this.#sameChain.believe(endpoint, answers.shift()!)
      this.#observeHttp(endpoint, calls.length, 'ok', started)
      endpoint.latencies.add(performance.now() - started)
      this.#noteBatch(endpoint, answers)
      return answers.map((answer, index) => this.#settle(endpoint, calls[index]!, answer))
    } catch (error) {
      if (!(error instanceof UpstreamFault)) throw error
      this.#observeHttp(endpoint, calls.length, error.kind, started)
      this.#noteFailure(endpoint, sent.length, error)
      return calls.map((call) => this.#settle(endpoint, call, { fault: error }))
    }
  }

  #settle<T>(endpoint: Endpoint, call: UpstreamCall<T>, answer: Answer): { value: T } | { fault: UpstreamFault } {
    const settled = 'result' in answer ? decode(call, answer.result, endpoint) : answer
    const outcome = 'fault' in settled ? settled.fault.kind : 'ok'
    this.observer.onCall?.({ upstream: endpoint.label, method: call.method, outcome })
    return settled
  }

  #noteBatch(endpoint: Endpoint, answers: Answer[]): void {
    endpoint.circuit.succeeded(true)
    if (answers.length === 1) return
    const missing = answers.filter((answer) => 'fault' in answer && answer.fault.kind === 'missing-answer').length
    if (missing === 0) endpoint.batchSucceeded()
    else this.#limitBatches(endpoint, answers.length - missing)
  }

  #noteFailure(endpoint: Endpoint, size: number, fault: UpstreamFault): void {
    this.#sameChain.doubt(endpoint)
    if (size > 1 && refusesBatches(fault)) {
      this.#limitBatches(endpoint, Math.floor(size / 10))
      return
    }
    if (size > 1 && fault.kind !== 'timeout' && fault.kind !== 'wrong-chain' && !isRateLimit(fault))
      endpoint.batchFailed(size)
    this.#leaveOut(endpoint, fault)
  }

  #limitBatches(endpoint: Endpoint, limit: number): void {
    const news = endpoint.limitBatches(Math.max(1, limit))
    if (news) this.observer.onWorkaround?.({ upstream: endpoint.label, lacks: `batches over ${Math.max(1, limit)}` })
  }

  #observeRetry(endpoint: Endpoint, { method }: UpstreamCall<unknown>, outcome: CallOutcome<unknown>): void {
    if ('error' in outcome)
      this.observer.onRetry?.({ upstream: endpoint.label, method, fault: outcome.error.fault.kind })
  }

  #observeHttp(endpoint: Endpoint, calls: number, outcome: 'ok' | UpstreamFault['kind'], started: number): void {
    const milliseconds = performance.now() - started
    this.observer.onHttpRequest?.({ upstream: endpoint.label, calls, outcome, milliseconds })
  }
}

function decode<T>(
  call: UpstreamCall<T>,
  result: unknown,
  { secrets }: Endpoint,
): { value: T } | { fault: UpstreamFault } {
  if (call.isShown && secrets.areIn(result))
    return { fault: new UpstreamFault('malformed', "the answer is withheld: it holds a part of the node's URL") }
  try {
    return { value: call.decode(result) }
  } catch (error) {
    if (error instanceof UpstreamFault) return { fault: error }
    throw error
  }
}

function outlasts(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), milliseconds)
    const end = () => {
      clearTimeout(timer)
      resolve(false)
    }
    work.then(end, end)
  })
}

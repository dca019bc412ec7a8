import { Canceller } from './cancellation.js'
import type { Endpoint } from './endpoint.js'
import { runInSlices } from './event-loop-turns.js'
import { type CallResult, encodeCalls, matchAnswers } from './json-rpc-batch.js'
import { ResultText, resultText, resultTextInParts } from './result-text.js'
import { isRateLimit, refusesBatches } from './retry-policy.js'
import { CHAIN_ID_CALL, type SameChain } from './same-chain.js'
import type { CallLimits, UpstreamCall } from './upstream-call.js'
import { UpstreamFault } from './upstream-fault.js'
import type { UpstreamObserver } from './upstream-observer.js'

const WRONG_CHAIN_REST_MS = 60_000
/** Most bytes of one HTTP response, whatever the limits of its calls add up to. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** Longer results are passed on as text, without being parsed. */
const LONG = 256 * 1024
/** Copies of a long response in memory: its chunks and its text. */
const COPIES = 2
const NEVER = new Canceller().signal
/** Most bytes of a call's envelope around its result. */
const ENVELOPE_BYTES = 1_024

export type Settled<T> = { value: T } | { fault: UpstreamFault }

/** Sends single HTTP requests to a node and records what each reveals about the node. */
export class Exchanges {
  readonly #sameChain: SameChain
  readonly #observer: UpstreamObserver
  readonly #attemptTimeoutMs: number
  readonly #chain: { asksChainId: boolean; hasOthers: boolean }
  #nextId = 1

  /** @param chain `asksChainId`: every request also asks for the chain id; `hasOthers`: other URLs are configured */
  constructor(
    sameChain: SameChain,
    observer: UpstreamObserver,
    attemptTimeoutMs: number,
    chain: { asksChainId: boolean; hasOthers: boolean },
  ) {
    this.#sameChain = sameChain
    this.#observer = observer
    this.#attemptTimeoutMs = attemptTimeoutMs
    this.#chain = chain
  }

  /** Outcomes in the order of the calls. @throws the signal's reason */
  async send<T>(
    endpoint: Endpoint,
    calls: UpstreamCall<T>[],
    deadline: number,
    asked: CallLimits,
  ): Promise<Settled<T>[]> {
    const { signal } = asked
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
    const { asksChainId, hasOthers } = this.#chain
    const withChainId = asksChainId && endpoint.batchLimit > 1 && !calls.some(({ pace }) => pace === 'slow')
    const sent = withChainId ? [CHAIN_ID_CALL, ...calls] : calls
    try {
      if (!withChainId && (asksChainId || hasOthers)) await this.#sameChain.check(endpoint, { timeoutMs, signal })
      const reserve = (bytes: number) => asked.reserve?.(COPIES * bytes)
      const limits = { maxBytes: Math.min(maxBytes, MAX_ANSWER_BYTES), timeoutMs, signal, reserve }
      const text = await endpoint.post(encodeCalls(sent, firstId), limits)
      const [only] = calls
      const isPassedOn = sent.length === 1 && only?.takesText === true && text.length > LONG
      const checked = () => runInSlices(resultTextInParts(text, firstId, endpoint.secrets), { signal: signal ?? NEVER })
      const json = !isPassedOn ? undefined : only.isShown ? await checked() : resultText(text, firstId)
      const answers = json === undefined ? matchAnswers(text, firstId, sent.length, endpoint.secrets) : []
      if (withChainId) this.#sameChain.acceptChainId(endpoint, answers.shift()!)
      this.#observeHttp(endpoint, calls.length, 'ok', started)
      endpoint.latencies.add(performance.now() - started)
      this.#noteBatch(endpoint, answers)
      if (json !== undefined)
        return [this.#reportOutcome(endpoint, only!, { value: only!.decode(new ResultText(json)) })]
      return answers.map((answer, index) => this.#settle(endpoint, calls[index]!, answer))
    } catch (error) {
      if (!(error instanceof UpstreamFault)) throw error
      this.#observeHttp(endpoint, calls.length, error.kind, started)
      this.#noteFailure(endpoint, sent.length, error)
      return calls.map((call) => this.#settle(endpoint, call, { fault: error }))
    }
  }

  #settle<T>(endpoint: Endpoint, call: UpstreamCall<T>, answer: CallResult): Settled<T> {
    return this.#reportOutcome(endpoint, call, 'result' in answer ? decode(call, answer.result, endpoint) : answer)
  }

  #reportOutcome<T>(endpoint: Endpoint, call: UpstreamCall<T>, settled: Settled<T>): Settled<T> {
    const outcome = 'fault' in settled ? settled.fault.kind : 'ok'
    this.#observer.onCall?.({ upstream: endpoint.label, method: call.method, outcome })
    return settled
  }

  #noteBatch(endpoint: Endpoint, answers: CallResult[]): void {
    endpoint.circuit.succeeded(true)
    if (answers.length <= 1) return
    const missing = answers.filter((answer) => 'fault' in answer && answer.fault.kind === 'missing-answer').length
    if (missing === 0) endpoint.batchSucceeded()
    else this.#limitBatches(endpoint, answers.length - missing)
  }

  #noteFailure(endpoint: Endpoint, size: number, fault: UpstreamFault): void {
    this.#sameChain.invalidate(endpoint)
    if (size > 1 && refusesBatches(fault)) {
      this.#limitBatches(endpoint, Math.floor(size / 10))
      return
    }
    if (size > 1 && fault.kind !== 'timeout' && fault.kind !== 'wrong-chain' && !isRateLimit(fault))
      endpoint.batchFailed(size)
    openCircuit(endpoint, fault)
  }

  #limitBatches(endpoint: Endpoint, limit: number): void {
    const news = endpoint.limitBatches(Math.max(1, limit))
    if (news) this.#observer.onWorkaround?.({ upstream: endpoint.label, lacks: `batches over ${Math.max(1, limit)}` })
  }

  #observeHttp(endpoint: Endpoint, calls: number, outcome: 'ok' | UpstreamFault['kind'], started: number): void {
    const milliseconds = performance.now() - started
    this.#observer.onHttpRequest?.({ upstream: endpoint.label, calls, outcome, milliseconds })
  }
}

/** Stops using a node for a while after a failure. */
export function openCircuit(endpoint: Endpoint, error: unknown): void {
  const isOfAnotherChain = error instanceof UpstreamFault && error.kind === 'wrong-chain'
  endpoint.circuit.failed(isOfAnotherChain ? WRONG_CHAIN_REST_MS : undefined)
}

function decode<T>(call: UpstreamCall<T>, result: unknown, { secrets }: Endpoint): Settled<T> {
  if (call.isShown && secrets.occurIn(result))
    return { fault: new UpstreamFault('malformed', "the answer is withheld: it contains part of the node's URL") }
  try {
    return { value: call.decode(result) }
  } catch (error) {
    if (error instanceof UpstreamFault) return { fault: error }
    // The stack overflows on a result that is nested some thousands of times.
    if (error instanceof RangeError) return { fault: new UpstreamFault('malformed', 'a result that nests too deeply') }
    throw error
  }
}

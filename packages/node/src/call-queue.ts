import { type CallLimits, type CallOutcome, type UpstreamCall, unwrapOutcome } from './upstream-call.js'
import type { UpstreamClient } from './upstream-client.js'

const MAX_IN_FLIGHT = 32
const MAX_CALLS = 1_000
/** In a batch of more calls than this, or with a `slow` one, `prompt` calls get an HTTP request of their own. */
const PROMPT_COMPANIONS = 64

interface Entry {
  call: UpstreamCall<unknown>
  settle: (outcome: CallOutcome<unknown>) => void
  fail: (reason: unknown) => void
}

/**
 * Batches calls: those of one turn of the event loop share one HTTP request. While the maximum of requests is in flight, further calls wait
 * and are sent together afterwards. One queue serves all requests; another may serve the calls of one request, within its limits.
 */
export class CallQueue implements Pick<UpstreamClient, 'call'> {
  readonly #client: Pick<UpstreamClient, 'batch'>
  readonly #limits: CallLimits
  #waiting: Entry[] = []
  readonly #unsent = new Map<string, Promise<CallOutcome<unknown>>>()
  #scheduled = false
  #inFlight = 0

  /** @param limits apply to all calls */
  constructor(client: Pick<UpstreamClient, 'batch'>, limits: CallLimits = {}) {
    this.#client = client
    this.#limits = limits
  }

  /** Like `UpstreamClient.call`. */
  async call<T>(call: UpstreamCall<T>): Promise<T> {
    return unwrapOutcome(await this.send(call))
  }

  send<T>(call: UpstreamCall<T>): Promise<CallOutcome<T>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, settle: resolve as Entry['settle'], fail: reject })
      this.#schedule()
    })
  }

  /** Outcomes in the order of the calls, once all are settled. */
  sendAll<T>(calls: readonly UpstreamCall<T>[]): Promise<CallOutcome<T>[]> {
    return Promise.all(calls.map((call) => this.send(call)))
  }

  /** Like {@link send}, but calls with the same key share one until the next HTTP request leaves. No answer is older than its call. */
  sendShared<T>(key: string, call: UpstreamCall<T>): Promise<CallOutcome<T>> {
    let outcome = this.#unsent.get(key) as Promise<CallOutcome<T>> | undefined
    if (outcome === undefined) {
      outcome = this.send(call)
      this.#unsent.set(key, outcome)
    }
    return outcome
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= MAX_IN_FLIGHT) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    const wanted: Entry[] = []
    for (const entry of this.#waiting) {
      if (entry.call.isWanted?.() !== false) wanted.push(entry)
      else entry.fail(new Error('nobody waits for this call any more'))
    }
    const entries = wanted.splice(0, MAX_CALLS)
    this.#waiting = wanted
    this.#unsent.clear()
    if (entries.length > PROMPT_COMPANIONS || entries.some(({ call }) => call.pace === 'slow')) {
      this.#send(entries.filter(({ call }) => call.pace === 'prompt'))
      this.#send(entries.filter(({ call }) => call.pace !== 'prompt'))
    } else this.#send(entries)
    if (this.#waiting.length > 0) this.#schedule()
  }

  #send(entries: Entry[]): void {
    if (entries.length === 0) return
    this.#inFlight += 1
    const calls = entries.map((entry) => entry.call)
    this.#client
      .batch(calls, this.#limits, (index, outcome) => entries[index]!.settle(outcome))
      .catch((reason) => {
        for (const { fail } of entries) fail(reason)
      })
      .finally(() => {
        this.#inFlight -= 1
        if (this.#waiting.length > 0) this.#schedule()
      })
  }
}

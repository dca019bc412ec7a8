import type { CallOutcome, UpstreamCall, UpstreamClient } from './upstream-client.js'

const MOST_IN_FLIGHT = 32
const MOST_CALLS = 1_000

interface Entry {
  call: UpstreamCall<unknown>
  settle: (outcome: CallOutcome<unknown>) => void
  fail: (reason: unknown) => void
}

/**
 * Calls of all requests, sent together: those of one turn of the event loop share one HTTP request, and while many are under
 * way the next ones gather.
 */
export class CallQueue {
  readonly #client: UpstreamClient
  #waiting: Entry[] = []
  readonly #unsent = new Map<string, Promise<CallOutcome<unknown>>>()
  #scheduled = false
  #inFlight = 0

  constructor(client: UpstreamClient) {
    this.#client = client
  }

  send<T>(call: UpstreamCall<T>): Promise<CallOutcome<T>> {
    const outcome = new Promise<CallOutcome<T>>((resolve, reject) => {
      this.#waiting.push({
        call: call as UpstreamCall<unknown>,
        settle: resolve as (outcome: CallOutcome<unknown>) => void,
        fail: reject,
      })
    })
    this.#schedule()
    return outcome
  }

  /** Like `send`, but shared with whoever gave the same key since the last HTTP request left: it can't be older than asked for. */
  sendShared<T>(key: string, call: UpstreamCall<T>): Promise<CallOutcome<T>> {
    let outcome = this.#unsent.get(key) as Promise<CallOutcome<T>> | undefined
    if (outcome === undefined) {
      outcome = this.send(call)
      this.#unsent.set(key, outcome)
    }
    return outcome
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= MOST_IN_FLIGHT) return
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
      else entry.fail(new Error('nobody waits for it any more'))
    }
    const entries = wanted.slice(0, MOST_CALLS)
    this.#waiting = wanted.slice(MOST_CALLS)
    this.#unsent.clear()
    if (entries.length === 0) return
    this.#inFlight += 1
    const calls = entries.map((entry) => entry.call)
    this.#client
      .batch(calls, {}, (index, outcome) => entries[index]!.settle(outcome))
      .catch((reason) => {
        for (const entry of entries) entry.fail(reason)
      })
      .finally(() => {
        this.#inFlight -= 1
        if (this.#waiting.length > 0) this.#schedule()
      })
    if (this.#waiting.length > 0) this.#schedule()
  }
}

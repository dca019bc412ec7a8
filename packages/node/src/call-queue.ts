import type { CallOutcome, UpstreamCall } from './upstream-call.js'
import type { UpstreamClient } from './upstream-client.js'

const MOST_IN_FLIGHT = 32
const MOST_CALLS = 1_000
/** A `prompt` call does not share an HTTP request with more calls than these, nor with a `slow` one. */
const PROMPT_COMPANIONS = 64

/** Calls of one `sendAll`, and their outcomes so far. */
interface Group {
  outcomes: CallOutcome<unknown>[]
  open: number
  settle: (outcomes: CallOutcome<unknown>[]) => void
  fail: (reason: unknown) => void
}

interface Entry {
  call: UpstreamCall<unknown>
  group: Group
  index: number
}

/**
 * Sends the calls of all requests together: those of one turn of the event loop share one HTTP request. While the most HTTP
 * requests are under way, further calls wait and are sent together afterwards.
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

  async send<T>(call: UpstreamCall<T>): Promise<CallOutcome<T>> {
    const [outcome] = await this.sendAll([call])
    return outcome!
  }

  /** Outcomes in the order of the calls, once all are there. */
  sendAll<T>(calls: readonly UpstreamCall<T>[]): Promise<CallOutcome<T>[]> {
    return new Promise((resolve, reject) => {
      const settle = resolve as (outcomes: CallOutcome<unknown>[]) => void
      const group: Group = { outcomes: new Array(calls.length), open: calls.length, settle, fail: reject }
      for (let index = 0; index < calls.length; index += 1)
        this.#waiting.push({ call: calls[index] as UpstreamCall<unknown>, group, index })
      this.#schedule()
    })
  }

  /** Like `send`, but one call for all who give the same key before the next HTTP request leaves: no answer is older than asked for. */
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
      else entry.group.fail(new Error('nobody waits for this call any more'))
    }
    const entries = wanted.length > MOST_CALLS ? wanted.slice(0, MOST_CALLS) : wanted
    this.#waiting = wanted.length > MOST_CALLS ? wanted.slice(MOST_CALLS) : []
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
      .batch(calls, {}, (index, outcome) => note(entries[index]!, outcome))
      .catch((reason) => {
        for (const { group } of entries) group.fail(reason)
      })
      .finally(() => {
        this.#inFlight -= 1
        if (this.#waiting.length > 0) this.#schedule()
      })
  }
}

function note({ group, index }: Entry, outcome: CallOutcome<unknown>): void {
  group.outcomes[index] = outcome
  group.open -= 1
  if (group.open === 0) group.settle(group.outcomes)
}

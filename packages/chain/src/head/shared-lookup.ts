/** How old a shared value may be while requests are few: less than a client needs to hear of a block and ask for it. */
const IDLE_WINDOW_MS = 1
/** How old a shared value may be while requests are many: `BUSY_COUNT` within `BUSY_PERIOD_MS`. */
const BUSY_WINDOW_MS = 5
const BUSY_COUNT = 50
const BUSY_PERIOD_MS = 50
const MAX_IN_FLIGHT = 4

/**
 * Shares the answer to a changing question, such as the node's head, among concurrent callers. The node was asked after the caller called,
 * or at most 1 ms before; 5 ms from 1,000 requests a second on.
 */
export class SharedLookup<T> {
  readonly #ask: () => Promise<T>
  #newest: { startedAt: number; promise: Promise<T>; value?: T } | undefined
  /** The lookup that started last. */
  #last: Promise<unknown> = Promise.resolve()
  #inFlight = 0
  #next: Promise<T> | undefined
  #answer: T | undefined
  #answeredAt = Number.NEGATIVE_INFINITY
  readonly #askedAt = new Float64Array(BUSY_COUNT)
  #asked = 0

  constructor(ask: () => Promise<T>) {
    this.#ask = ask
  }

  /** Returns the value itself if it is already there. */
  get(): T | Promise<T> {
    const now = performance.now()
    const window = this.#window(now)
    const newest = this.#newest
    if (newest !== undefined && now - newest.startedAt <= window) return newest.value ?? newest.promise
    if (this.#inFlight < MAX_IN_FLIGHT) return this.#start(now)
    this.#next ??= this.#last.then(
      () => this.#startNext(),
      () => this.#startNext(),
    )
    return this.#next
  }

  /** The newest answer, if it was asked for at most this many milliseconds ago. */
  recent(milliseconds: number): T | undefined {
    return performance.now() - this.#answeredAt <= milliseconds ? this.#answer : undefined
  }

  #startNext(): Promise<T> {
    this.#next = undefined
    return this.#start(performance.now())
  }

  #start(startedAt: number): Promise<T> {
    this.#inFlight += 1
    const lookup: { startedAt: number; promise: Promise<T>; value?: T } = { startedAt, promise: this.#ask() }
    this.#newest = lookup
    this.#last = lookup.promise
    lookup.promise.then(
      (value) => {
        this.#inFlight -= 1
        lookup.value = value
        if (startedAt >= this.#answeredAt) {
          this.#answer = value
          this.#answeredAt = startedAt
        }
      },
      () => {
        this.#inFlight -= 1
        if (this.#newest === lookup) this.#newest = undefined
      },
    )
    return lookup.promise
  }

  /** Counts one request. @returns how long a value may be shared now, milliseconds */
  #window(now: number): number {
    const slot = this.#asked % BUSY_COUNT
    const busy = this.#asked >= BUSY_COUNT && now - this.#askedAt[slot]! <= BUSY_PERIOD_MS
    this.#askedAt[slot] = now
    this.#asked += 1
    return busy ? BUSY_WINDOW_MS : IDLE_WINDOW_MS
  }
}

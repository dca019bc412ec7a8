const IDLE_MS = 2_000
const MIN_MS = 10
const MAX_MS = 200
/** Reads per typical wait: a mined transaction is seen at most a fifth of the wait late. */
const LOOKS_PER_WAIT = 5
const WEIGHT_OF_THE_NEWEST = 0.2
const FIRST_GUESS_MS = 50

/**
 * Polls the head: every two seconds when idle; while transactions are in flight, at a rate that follows their waiting times, from every 10
 * ms on instant-mining chains to every 200 ms with blocks of a second or more.
 */
export class HeadPoll {
  #typicalWait = FIRST_GUESS_MS
  #sentAt = Number.NEGATIVE_INFINITY
  #stopped = false
  #next: { at: number; now: () => void } | null = null

  readonly #isBusy: () => boolean
  readonly #read: () => Promise<void>

  constructor(isBusy: () => boolean, read: () => Promise<void>) {
    this.#isBusy = isBusy
    this.#read = read
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      await this.#read()
      if (!this.#stopped) await this.#pause()
    }
  }

  stop(): void {
    this.#stopped = true
    this.#next?.now()
  }

  /** A transaction was broadcast, so the next read comes soon. */
  sent(): void {
    this.#sentAt = performance.now()
    if (this.#next !== null && this.#next.at > performance.now() + this.delay()) this.#next.now()
  }

  /** Reports how long a transaction took to be mined. */
  mined(waitedMilliseconds: number): void {
    this.#typicalWait += WEIGHT_OF_THE_NEWEST * (waitedMilliseconds - this.#typicalWait)
  }

  /** Milliseconds until the next read. */
  delay(): number {
    const sinceSent = performance.now() - this.#sentAt
    if (!this.#isBusy() && sinceSent > IDLE_MS) return IDLE_MS
    const wait = Math.max(this.#typicalWait, sinceSent)
    return Math.min(Math.max(wait / LOOKS_PER_WAIT, MIN_MS), MAX_MS)
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const delay = this.delay()
      const done = () => {
        clearTimeout(timer)
        this.#next = null
        resolve()
      }
      const timer = setTimeout(done, delay)
      this.#next = { at: performance.now() + delay, now: done }
    })
  }
}

const IDLE_MILLISECONDS = 2_000
const SHORTEST_MILLISECONDS = 10
const LONGEST_MILLISECONDS = 200
/** Looks per wait: a transaction is seen at most a fifth of its wait too late. */
const LOOKS_PER_WAIT = 5
const WEIGHT_OF_THE_NEWEST = 0.2
const FIRST_GUESS_MILLISECONDS = 50

/**
 * Reads a chain's head again and again: every two seconds, and while transactions are under way as often as their waits make
 * it worth: within 10 ms where blocks come at once, every 200 ms where they come by the second.
 */
export class HeadPoll {
  #typicalWait = FIRST_GUESS_MILLISECONDS
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

  /** A transaction was broadcast: the next read comes soon. */
  sent(): void {
    this.#sentAt = performance.now()
    if (this.#next !== null && this.#next.at > performance.now() + this.delay()) this.#next.now()
  }

  /** A transaction was seen mined this long after it was broadcast. */
  mined(waitedMilliseconds: number): void {
    this.#typicalWait += WEIGHT_OF_THE_NEWEST * (waitedMilliseconds - this.#typicalWait)
  }

  /** Milliseconds from one read to the next. */
  delay(): number {
    const sinceSent = performance.now() - this.#sentAt
    if (!this.#isBusy() && sinceSent > IDLE_MILLISECONDS) return IDLE_MILLISECONDS
    const wait = Math.max(this.#typicalWait, sinceSent)
    return Math.min(Math.max(wait / LOOKS_PER_WAIT, SHORTEST_MILLISECONDS), LONGEST_MILLISECONDS)
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

const MEASURE_INTERVAL_MS = 50
/** For this long after a stall, calls may still be read that waited during it. */
const REMEMBERED_MS = 1_000

/** Measures how long the event loop was last blocked. */
export class EventLoopStall {
  #lookedAt = performance.now()
  #stalledMs = 0
  #endedAt = Number.NEGATIVE_INFINITY

  constructor() {
    setInterval(() => this.#measure(), MEASURE_INTERVAL_MS).unref()
  }

  /** Longest time, in milliseconds, that a call read now may have waited for the event loop. */
  get waitedMs(): number {
    const now = performance.now()
    const remembered = now - this.#endedAt < REMEMBERED_MS ? this.#stalledMs : 0
    return Math.max(now - this.#lookedAt - MEASURE_INTERVAL_MS, remembered, 0)
  }

  #measure(): void {
    const now = performance.now()
    const late = now - this.#lookedAt - MEASURE_INTERVAL_MS
    this.#lookedAt = now
    const isOver = now - this.#endedAt >= REMEMBERED_MS
    if (late < MEASURE_INTERVAL_MS || (late < this.#stalledMs && !isOver)) return
    this.#stalledMs = late
    this.#endedAt = now
  }
}

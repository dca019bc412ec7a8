const LOOK_EVERY_MS = 50
/** Calls that waited are counted within this time after it. */
const REMEMBERED_MS = 1_000

/** How long the event loop last kept everything waiting. */
export class EventLoopStall {
  #lookedAt = performance.now()
  #stalledMs = 0
  #endedAt = Number.NEGATIVE_INFINITY

  constructor() {
    setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  /** Milliseconds that a call which is read now may have waited at most. */
  get waitedMs(): number {
    const now = performance.now()
    const remembered = now - this.#endedAt < REMEMBERED_MS ? this.#stalledMs : 0
    return Math.max(now - this.#lookedAt - LOOK_EVERY_MS, remembered, 0)
  }

  #look(): void {
    const now = performance.now()
    const late = now - this.#lookedAt - LOOK_EVERY_MS
    this.#lookedAt = now
    const isOver = now - this.#endedAt >= REMEMBERED_MS
    if (late < LOOK_EVERY_MS || (late < this.#stalledMs && !isOver)) return
    this.#stalledMs = late
    this.#endedAt = now
  }
}

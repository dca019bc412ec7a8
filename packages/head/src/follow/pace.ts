/** Heads that the pace is learnt from. */
const REMEMBERED = 16
/** Until two heads were seen. */
const UNKNOWN_INTERVAL_MS = 1_000
const LEAST_INTERVAL_MS = 50

/** How fast a chain makes blocks, learnt from when its heads were seen. Times are milliseconds of one clock. */
export class Pace {
  readonly #seen: { number: bigint; at: number }[] = []

  /** A head that was seen for the first time. One that goes back (a reorganisation) begins anew. */
  note(number: bigint, at: number): void {
    const last = this.#seen.at(-1)
    if (last !== undefined && number <= last.number) this.#seen.length = 0
    this.#seen.push({ number, at })
    if (this.#seen.length > REMEMBERED) this.#seen.shift()
  }

  /** Milliseconds between blocks. */
  get intervalMs(): number {
    const first = this.#seen[0]
    const last = this.#seen.at(-1)
    if (first === undefined || last === undefined || first === last) return UNKNOWN_INTERVAL_MS
    return Math.max(LEAST_INTERVAL_MS, (last.at - first.at) / Number(last.number - first.number))
  }

  /** How long after the newest head the next one counts as overdue. */
  get overdueMs(): number {
    return 1.5 * this.intervalMs + 500
  }

  /**
   * When to ask next: a little after the next head is due, then again and again at an eighth of the interval.
   * @param now the current time
   */
  nextAsk(now: number): number {
    const interval = this.intervalMs
    const last = this.#seen.at(-1)
    const due = (last?.at ?? now) + interval * 1.05
    return due > now ? due : now + Math.max(20, interval / 8)
  }
}

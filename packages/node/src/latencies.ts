/** Samples that are looked at, the newest ones. */
const KEPT = 64
const FEWEST = 20
const SLOW_SHARE = 0.95
/** Sorting at each sample would cost more than it tells. */
const SORT_EVERY = 8

/** How long a node takes to answer. */
export class Latencies {
  readonly #samples: number[] = []
  #count = 0
  #slowMs: number | undefined

  add(milliseconds: number): void {
    this.#samples[this.#count % KEPT] = milliseconds
    this.#count += 1
    if (this.#count < FEWEST || this.#count % SORT_EVERY !== 0) return
    const sorted = this.#samples.toSorted((a, b) => a - b)
    this.#slowMs = sorted[Math.floor(sorted.length * SLOW_SHARE)]
  }

  /** Milliseconds within which 95 of 100 answers came; undefined while too few are known. */
  get slowMs(): number | undefined {
    return this.#slowMs
  }
}

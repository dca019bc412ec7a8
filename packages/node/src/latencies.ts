/** Number of newest samples considered. */
const KEPT = 64
const FEWEST = 20
const SLOW_SHARE = 0.95
/** Sorting after every sample would cost too much. */
const SORT_EVERY = 8

/** The response times of a node. */
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

  /** The 95th percentile in milliseconds; undefined until there are enough samples. */
  get slowMs(): number | undefined {
    return this.#slowMs
  }
}

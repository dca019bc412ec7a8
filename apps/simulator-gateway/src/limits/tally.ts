/** Sums by key. Keys whose sum is 0 take no memory. */
export class Tally {
  readonly #sums = new Map<string, number>()

  of(key: string): number {
    return this.#sums.get(key) ?? 0
  }

  /** @param amount negative to subtract */
  add(key: string, amount = 1): void {
    const sum = this.of(key) + amount
    if (sum > 0) this.#sums.set(key, sum)
    else this.#sums.delete(key)
  }
}

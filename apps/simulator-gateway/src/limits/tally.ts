/** Sums by key; of a key without anything nothing is kept. */
export class Tally {
  readonly #sums = new Map<string, number>()

  of(key: string): number {
    return this.#sums.get(key) ?? 0
  }

  /** @param amount what is taken away is negative */
  add(key: string, amount = 1): void {
    const sum = this.of(key) + amount
    if (sum > 0) this.#sums.set(key, sum)
    else this.#sums.delete(key)
  }
}

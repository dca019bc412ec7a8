/** Counts by combination of labels. Labels must come from closed sets, never from what a client sends. */
export class Tally {
  #count = 0
  readonly #byLabel = new Map<string, Tally>()

  /** Adds one. Each tally always takes the same number of labels. */
  add(...labels: readonly string[]): void {
    this.#of(labels).#count += 1
  }

  addMany(count: number, ...labels: readonly string[]): void {
    this.#of(labels).#count += count
  }

  *entries(): Generator<[labels: string[], count: number]> {
    if (this.#byLabel.size === 0) yield [[], this.#count]
    for (const [label, tally] of this.#byLabel)
      for (const [labels, count] of tally.entries()) yield [[label, ...labels], count]
  }

  #of(labels: readonly string[]): Tally {
    let tally: Tally = this
    for (const label of labels) {
      let next = tally.#byLabel.get(label)
      if (next === undefined) {
        next = new Tally()
        tally.#byLabel.set(label, next)
      }
      tally = next
    }
    return tally
  }
}

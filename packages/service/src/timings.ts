import type { Histogram } from 'prom-client'

/** Durations of one series that are not in its histogram yet. */
interface WaitingTimes {
  histogram: Histogram.Internal<string>
  seconds: number[]
}

const MAX_WAITING = 1_000

/**
 * Durations by labels from closed sets. They are passed to prom-client a thousand at a time: one call per request would take
 * microseconds each.
 */
export class Timings {
  readonly #series = new Map<string, WaitingTimes>()
  readonly #bind: (labels: readonly string[]) => Histogram.Internal<string>

  constructor(bind: (labels: readonly string[]) => Histogram.Internal<string>) {
    this.#bind = bind
  }

  add(milliseconds: number, ...labels: readonly string[]): void {
    const key = labels.length === 1 ? labels[0]! : labels.join('\n')
    let times = this.#series.get(key)
    if (times === undefined) {
      times = { histogram: this.#bind(labels), seconds: [] }
      this.#series.set(key, times)
    }
    times.seconds.push(milliseconds / 1000)
    if (times.seconds.length === MAX_WAITING) flush(times)
  }

  /** Passes all collected durations to their histograms. */
  pass(): void {
    for (const times of this.#series.values()) flush(times)
  }
}

function flush(times: WaitingTimes): void {
  for (const seconds of times.seconds) times.histogram.observe(seconds)
  times.seconds.length = 0
}

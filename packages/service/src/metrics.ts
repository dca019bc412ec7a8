import { Injectable } from '@nestjs/common'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { Tally } from './tally.js'
import { Timings } from './timings.js'

const LATENCY_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]

/** The registry behind `/metrics`: the process's default metrics and those that a service adds. */
@Injectable()
export class Metrics {
  readonly registry = new Registry()

  constructor() {
    collectDefaultMetrics({ register: this.registry })
  }

  /** The answer of `/metrics`. */
  text(): Promise<string> {
    return this.registry.metrics()
  }

  /**
   * Registers a value that is read on each scrape.
   * @param aggregator how the values of several processes are combined
   */
  gauge(name: string, help: string, read: () => number, aggregator: 'sum' | 'max' = 'sum'): void {
    const registers = [this.registry]
    new Gauge({
      name,
      help,
      registers,
      aggregator,
      collect() {
        this.set(read())
      },
    })
  }

  /** Registers a count that is kept elsewhere and read on each scrape. */
  counter(name: string, help: string, read: () => number): void {
    const registers = [this.registry]
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  }

  /**
   * Registers a counter by labels, kept as plain numbers between scrapes.
   * @param from labels of series that start at 0
   */
  tally(name: string, help: string, labelNames: string[] = [], from: string[][] = []): Tally {
    const tally = new Tally()
    for (const labels of from) tally.addMany(0, ...labels)
    new Counter({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        this.reset()
        for (const [labels, count] of tally.entries())
          if (labels.length === labelNames.length) this.labels(...labels).inc(count)
      },
    })
    return tally
  }

  /** Registers a histogram of durations, by labels. */
  timings(name: string, help: string, labelNames: string[], buckets = LATENCY_BUCKETS_SECONDS): Timings {
    const timings = new Timings((labels) => histogram.labels(...labels))
    const histogram = new Histogram({
      name,
      help,
      labelNames,
      buckets,
      registers: [this.registry],
      collect() {
        timings.pass()
      },
    })
    return timings
  }
}

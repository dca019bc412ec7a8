import { Injectable } from '@nestjs/common'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

const LATENCIES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]

/** What `/metrics` shows, in one place. */
@Injectable()
export class Metrics {
  readonly registry = new Registry()
  private readonly calls = this.tally('upfront_rpc_calls_total', 'JSON-RPC calls by method and outcome', [
    'method',
    'outcome',
  ])
  private readonly times = this.timings('upfront_rpc_call_seconds', 'Time to serve a JSON-RPC call', ['method'])
  /** Plain numbers, read when `/metrics` is: a counter's own bookkeeping is felt in a small simulation. */
  private readonly simulations = { cached: 0, read: 0, gas: 0, blocks: 0 }
  private readonly refusals = new Counter({
    name: 'upfront_refused_requests_total',
    help: 'HTTP requests refused before any call in them was looked at',
    labelNames: ['status'],
    registers: [this.registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.registry })
    const { simulations } = this
    new Counter({
      name: 'upfront_simulations_total',
      help: 'Simulations by where their state came from: all of it cached, or some read from the upstream',
      labelNames: ['state'],
      registers: [this.registry],
      collect() {
        this.reset()
        this.inc({ state: 'cached' }, simulations.cached)
        this.inc({ state: 'read' }, simulations.read)
      },
    })
    this.counter('upfront_simulated_gas_total', 'Gas used by simulated calls, failed ones too', () => simulations.gas)
    this.counter('upfront_simulated_blocks_total', 'Blocks simulated', () => simulations.blocks)
  }

  /** `method` and `outcome` come from closed sets: never what a client sent. */
  call(method: string, outcome: string, milliseconds: number): void {
    this.calls.add(method, outcome)
    this.times.add(milliseconds, method)
  }

  simulated(blocks: number, gas: bigint, cached: boolean): void {
    const { simulations } = this
    if (cached) simulations.cached += 1
    else simulations.read += 1
    simulations.blocks += blocks
    simulations.gas += Number(gas)
  }

  refused(status: number): void {
    this.refusals.labels(String(status)).inc()
  }

  /** A value that is read when `/metrics` is. */
  gauge(name: string, help: string, read: () => number): void {
    const registers = [this.registry]
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })
  }

  /** A counter that another part keeps, read when `/metrics` is. */
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

  /** Counts by labels, kept as plain numbers. */
  tally(name: string, help: string, labelNames: string[]): Tally {
    const tally = new Tally()
    new Counter({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        this.reset()
        for (const [labels, count] of tally.entries()) this.labels(...labels).inc(count)
      },
    })
    return tally
  }

  /** How long things took, by labels. */
  timings(name: string, help: string, labelNames: string[]): Timings {
    const timings = new Timings((labels) => histogram.labels(...labels))
    const histogram = new Histogram({
      name,
      help,
      labelNames,
      buckets: LATENCIES,
      registers: [this.registry],
      collect() {
        timings.pass()
      },
    })
    return timings
  }
}

/** How often each combination of labels came. Those come from closed sets: never what a client sent. */
export class Tally {
  private count = 0
  private readonly byLabel = new Map<string, Tally>()

  /** As many labels each time. */
  add(...labels: readonly string[]): void {
    let tally: Tally = this
    for (const label of labels) {
      let next = tally.byLabel.get(label)
      if (next === undefined) {
        next = new Tally()
        tally.byLabel.set(label, next)
      }
      tally = next
    }
    tally.count += 1
  }

  *entries(): Generator<[labels: string[], count: number]> {
    if (this.byLabel.size === 0 && this.count > 0) yield [[], this.count]
    for (const [label, tally] of this.byLabel)
      for (const [labels, count] of tally.entries()) yield [[label, ...labels], count]
  }
}

/** Durations that one series has not passed on yet. */
interface WaitingTimes {
  histogram: Histogram.Internal<string>
  seconds: number[]
}

const MOST_WAITING = 1_000

/**
 * Durations by labels, which come from closed sets. They are passed on to prom-client a thousand at a time: one in each request,
 * it takes microseconds.
 */
export class Timings {
  private readonly series = new Map<string, WaitingTimes>()

  constructor(private readonly bind: (labels: readonly string[]) => Histogram.Internal<string>) {}

  add(milliseconds: number, ...labels: readonly string[]): void {
    const key = labels.length === 1 ? labels[0]! : labels.join('\n')
    let times = this.series.get(key)
    if (times === undefined) {
      times = { histogram: this.bind(labels), seconds: [] }
      this.series.set(key, times)
    }
    times.seconds.push(milliseconds / 1000)
    if (times.seconds.length === MOST_WAITING) passOn(times)
  }

  /** Passes on all that waits. */
  pass(): void {
    for (const times of this.series.values()) passOn(times)
  }
}

function passOn(times: WaitingTimes): void {
  for (const seconds of times.seconds) times.histogram.observe(seconds)
  times.seconds.length = 0
}

import { Injectable } from '@nestjs/common'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export const LATENCIES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]

/** What `/metrics` shows, in one place. */
@Injectable()
export class Metrics {
  readonly registry = new Registry()
  private readonly calls = new Counter({
    name: 'upfront_rpc_calls_total',
    help: 'JSON-RPC calls by method and outcome',
    labelNames: ['method', 'outcome'],
    registers: [this.registry],
  })
  private readonly seconds = new Histogram({
    name: 'upfront_rpc_call_seconds',
    help: 'Time to serve a JSON-RPC call',
    labelNames: ['method'],
    buckets: LATENCIES,
    registers: [this.registry],
  })
  private readonly gas = new Counter({
    name: 'upfront_simulated_gas_total',
    help: 'Gas used by simulated calls, failed ones too',
    registers: [this.registry],
  })
  private readonly simulations = new Counter({
    name: 'upfront_simulations_total',
    help: 'Simulations by where their state came from: all of it cached, or some read from the upstream',
    labelNames: ['state'],
    registers: [this.registry],
  })
  private readonly cached = this.simulations.labels('cached')
  private readonly read = this.simulations.labels('read')
  private readonly blocks = new Counter({
    name: 'upfront_simulated_blocks_total',
    help: 'Blocks simulated',
    registers: [this.registry],
  })
  private readonly refusals = new Counter({
    name: 'upfront_refused_requests_total',
    help: 'HTTP requests refused before any call in them was looked at',
    labelNames: ['status'],
    registers: [this.registry],
  })
  private readonly bound = new Map<string, { count: Counter.Internal; seconds: Histogram.Internal<'method'> }>()

  constructor() {
    collectDefaultMetrics({ register: this.registry })
  }

  /** `method` and `outcome` come from closed sets: never what a client sent. */
  call(method: string, outcome: string, milliseconds: number): void {
    const key = `${method} ${outcome}`
    let series = this.bound.get(key)
    if (series === undefined) {
      series = { count: this.calls.labels(method, outcome), seconds: this.seconds.labels(method) }
      this.bound.set(key, series)
    }
    series.count.inc()
    series.seconds.observe(milliseconds / 1000)
  }

  simulated(blocks: number, gas: bigint, cached: boolean): void {
    const series = cached ? this.cached : this.read
    series.inc()
    this.blocks.inc(blocks)
    this.gas.inc(Number(gas))
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
}

import { Inject, Injectable } from '@nestjs/common'
import type { UpstreamObserver } from '@upfront/chain-state'
import type { Logger } from 'pino'
import { Counter, Histogram } from 'prom-client'
import { LOGGER } from '../logger.js'
import { LATENCIES, Metrics } from './metrics.js'

/** Series by their labels' values, which come from closed sets: prom-client takes microseconds to find one. */
class Bound<T> {
  private readonly series = new Map<string, T>()

  of(key: string, bind: () => T): T {
    const known = this.series.get(key)
    if (known !== undefined) return known
    const series = bind()
    this.series.set(key, series)
    return series
  }
}

/** Counts what chain-state does upstream, and logs what it finds out about the node. */
@Injectable()
export class UpstreamJournal implements Required<UpstreamObserver> {
  private readonly requests: Histogram<'upstream' | 'outcome'>
  private readonly calls: Counter<'upstream' | 'method' | 'outcome'>
  private readonly requestSeries = new Bound<Histogram.Internal<'upstream' | 'outcome'>>()
  private readonly callSeries = new Bound<Counter.Internal>()
  private readonly retries: Counter<'upstream' | 'fault'>
  private readonly hits: Counter
  private readonly misses: Counter

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    { registry }: Metrics,
  ) {
    const registers = [registry]
    this.requests = new Histogram({
      name: 'upfront_upstream_request_seconds',
      help: 'HTTP requests to the upstream node, by outcome',
      labelNames: ['upstream', 'outcome'],
      buckets: LATENCIES,
      registers,
    })
    this.calls = new Counter({
      name: 'upfront_upstream_calls_total',
      help: 'JSON-RPC calls to the upstream node, by method and outcome',
      labelNames: ['upstream', 'method', 'outcome'],
      registers,
    })
    this.retries = new Counter({
      name: 'upfront_upstream_retries_total',
      help: 'JSON-RPC calls sent to the upstream node again, by what had gone wrong',
      labelNames: ['upstream', 'fault'],
      registers,
    })
    this.hits = new Counter({
      name: 'upfront_state_cache_hits_total',
      help: 'Reads of state that the cache had',
      registers,
    })
    this.misses = new Counter({
      name: 'upfront_state_cache_misses_total',
      help: 'Reads of state that went to the upstream node',
      registers,
    })
  }

  onHttpRequest({ upstream, outcome, milliseconds }: Parameters<Required<UpstreamObserver>['onHttpRequest']>[0]): void {
    const series = this.requestSeries.of(`${upstream} ${outcome}`, () => this.requests.labels(upstream, outcome))
    series.observe(milliseconds / 1000)
  }

  onCall({ upstream, method, outcome }: Parameters<Required<UpstreamObserver>['onCall']>[0]): void {
    const key = `${upstream} ${method} ${outcome}`
    this.callSeries.of(key, () => this.calls.labels(upstream, method, outcome)).inc()
  }

  onRetry({ upstream, fault }: Parameters<Required<UpstreamObserver>['onRetry']>[0]): void {
    this.retries.inc({ upstream, fault })
  }

  onReads({ hits, misses }: Parameters<Required<UpstreamObserver>['onReads']>[0]): void {
    if (hits > 0) this.hits.inc(hits)
    if (misses > 0) this.misses.inc(misses)
  }

  onWorkaround({ upstream, lacks }: Parameters<Required<UpstreamObserver>['onWorkaround']>[0]): void {
    this.logger.warn({ upstream, lacks }, 'the upstream lacks something and is worked around')
  }
}

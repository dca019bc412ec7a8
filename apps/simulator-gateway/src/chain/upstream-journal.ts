import { Inject, Injectable } from '@nestjs/common'
import type { Straying } from '@upfront/head'
import type { UpstreamObserver } from '@upfront/node'
import { LOGGER, type Logger, Metrics, type Tally, type Timings } from '@upfront/service'
import { Counter, Gauge } from 'prom-client'

/** Counts what is asked of the node, and logs what it finds out about the node. */
@Injectable()
export class UpstreamJournal implements Required<UpstreamObserver> {
  private readonly requests: Timings
  private readonly calls: Tally
  private readonly retries: Counter<'upstream' | 'fault'>
  private readonly hedges: Counter<'upstream' | 'first'>
  private readonly leftOut: Gauge<'upstream' | 'reason'>
  private readonly reads = { hits: 0, misses: 0 }

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    const registers = [metrics.registry]
    this.requests = metrics.timings(
      'upfront_upstream_request_seconds',
      'HTTP requests to the upstream node, by outcome',
      ['upstream', 'outcome'],
    )
    this.calls = metrics.tally(
      'upfront_upstream_calls_total',
      'JSON-RPC calls to the upstream node, by method and outcome',
      ['upstream', 'method', 'outcome'],
    )
    this.retries = new Counter({
      name: 'upfront_upstream_retries_total',
      help: 'JSON-RPC calls sent to the upstream node again, by what had gone wrong',
      labelNames: ['upstream', 'fault'],
      registers,
    })
    this.hedges = new Counter({
      name: 'upfront_upstream_hedges_total',
      help: 'HTTP requests asked of a second node as the first was slow, and whether the second answered first',
      labelNames: ['upstream', 'first'],
      registers,
    })
    this.leftOut = new Gauge({
      name: 'upfront_upstream_left_out',
      help: '1 while a URL is not asked where there is another: it failed, or its head strays from the others',
      labelNames: ['upstream', 'reason'],
      registers,
    })
    const { reads } = this
    metrics.counter(
      'upfront_state_cache_hits_total',
      'Values of state that simulations were expected to read and the engine held, or that were being read already',
      () => reads.hits,
    )
    metrics.counter(
      'upfront_state_cache_misses_total',
      'Values of state asked of the upstream node',
      () => reads.misses,
    )
  }

  onHttpRequest({ upstream, outcome, milliseconds }: Parameters<Required<UpstreamObserver>['onHttpRequest']>[0]): void {
    this.requests.add(milliseconds, upstream, outcome)
  }

  onCall({ upstream, method, outcome }: Parameters<Required<UpstreamObserver>['onCall']>[0]): void {
    this.calls.add(upstream, method, outcome)
  }

  onRetry({ upstream, fault }: Parameters<Required<UpstreamObserver>['onRetry']>[0]): void {
    this.retries.inc({ upstream, fault })
  }

  onHedge({ upstream, isFirst }: Parameters<Required<UpstreamObserver>['onHedge']>[0]): void {
    this.hedges.inc({ upstream, first: String(isFirst) })
  }

  onCircuit({ upstream, state }: Parameters<Required<UpstreamObserver>['onCircuit']>[0]): void {
    this.leftOut.set({ upstream, reason: 'failed' }, state === 'closed' ? 0 : 1)
    this.logger.info({ upstream, circuit: state }, 'whether the upstream is asked has changed')
  }

  onStraying(upstream: string, strays: Straying | undefined): void {
    this.leftOut.set({ upstream, reason: 'strays' }, strays === undefined ? 0 : 1)
    if (strays === undefined) this.logger.info({ upstream }, 'the upstream’s head agrees with the others again')
    else this.logger.warn({ upstream, strays }, 'the upstream’s head is at odds with the others: it is not stood on')
  }

  onReads({ hits, misses }: Parameters<Required<UpstreamObserver>['onReads']>[0]): void {
    this.reads.hits += hits
    this.reads.misses += misses
  }

  onWorkaround({ upstream, lacks }: Parameters<Required<UpstreamObserver>['onWorkaround']>[0]): void {
    this.logger.warn({ upstream, lacks }, 'the upstream lacks something and is worked around')
  }
}

import { Inject, Injectable } from '@nestjs/common'
import type { FollowerEvent, FollowerStatus } from '@upfront/preconfirmed'
import { LOGGER, type Logger, Metrics } from '@upfront/service'
import { Counter, Histogram } from 'prom-client'

const VISIBLE_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5]

/** Counts and logs what becomes of the stream. */
@Injectable()
export class PreconfirmedJournal {
  private readonly arrivals: Counter<'arrival'>
  private readonly events: Counter<'event'>
  private readonly visible: Histogram
  private saidNativePrecompile = false

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {
    const registers = [metrics.registry]
    this.arrivals = new Counter({
      name: 'upfront_flashblocks_total',
      help: 'Flashblocks that came in: next, first, restart, duplicate, gap, stale or ahead',
      labelNames: ['arrival'],
      registers,
    })
    this.events = new Counter({
      name: 'upfront_preconfirmed_events_total',
      help: 'What happened to the pre-confirmed chain: visible, folded, differs, reorganised, mismatch, nativePrecompile, fallback, …',
      labelNames: ['event'],
      registers,
    })
    for (const event of ['differs', 'mismatch', 'nativePrecompile']) this.events.inc({ event }, 0)
    this.visible = new Histogram({
      name: 'upfront_flashblock_visible_seconds',
      help: 'From a flashblock that came in to the state that shows it',
      buckets: VISIBLE_SECONDS,
      registers,
    })
  }

  /** Shows where `pending` stands as gauges, read when `/metrics` is. */
  watch(status: () => FollowerStatus | undefined): void {
    const { metrics } = this
    metrics.gauge(
      'upfront_preconfirmed_connected',
      'Whether the stream is connected',
      () => (status()?.connected ? 1 : 0),
      'max',
    )
    metrics.gauge(
      'upfront_preconfirmed_block',
      'The block under construction that pending shows; 0 on the head',
      () => Number(status()?.blockNumber ?? 0),
      'max',
    )
    metrics.gauge(
      'upfront_preconfirmed_age_seconds',
      'Age of the newest flashblock that pending shows',
      () => (status()?.ageMs ?? 0) / 1_000,
      'max',
    )
  }

  observe(event: FollowerEvent): void {
    if (event.kind === 'arrival') {
      this.arrivals.inc({ arrival: event.arrival })
      return
    }
    this.events.inc({ event: event.kind })
    const { kind, ...fields } = event
    switch (event.kind) {
      case 'visible':
        this.visible.observe(event.afterMs / 1_000)
        this.logger.debug(loggable(fields), 'a flashblock shows in pending')
        break
      case 'mismatch':
        this.logger.warn(loggable(fields), `flashblock ${event.index} of block ${event.blockNumber} is not used`)
        break
      case 'nativePrecompile': {
        const level = this.saidNativePrecompile ? 'debug' : 'warn'
        this.saidNativePrecompile = true
        this.logger[level](loggable(fields), 'a flashblock is not used; further ones for this reason are only counted')
        break
      }
      case 'reorganised':
        this.logger.warn(loggable(fields), 'the head is no child of the one before')
        break
      case 'differs':
        this.logger.info(loggable(fields), 'the head is not the block that was pre-confirmed')
        break
      case 'connected':
        this.logger.info({ stream: host(event.url) }, 'the flashblocks stream is connected')
        break
      case 'lost':
        this.logger.warn(
          { stream: host(event.url), reason: event.reason, retryInMs: event.retryInMs },
          'the flashblocks stream is lost',
        )
        break
      case 'undecodable':
      case 'head-unknown':
      case 'unreadable':
        this.logger.warn(loggable(fields), kind)
        break
      default:
        this.logger.debug(loggable(fields), kind)
    }
  }
}

/** A stream's URL may hold a key: only its host is written. */
function host(url: string): string {
  return new URL(url).host
}

function loggable(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
  )
}

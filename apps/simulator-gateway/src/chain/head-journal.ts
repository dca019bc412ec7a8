import { Inject, Injectable } from '@nestjs/common'
import type { HeadEvent, HeadStatus } from '@upfront/head'
import { LOGGER, type Logger, Metrics } from '@upfront/service'
import { Counter } from 'prom-client'

/** Counts and logs how the head is followed. */
@Injectable()
export class HeadJournal {
  private readonly events: Counter<'event'>

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {
    this.events = new Counter({
      name: 'upfront_head_events_total',
      help: 'What happened while the head was followed: head, reorganised, missed, unserved, lost, unknown, failed, following, resting',
      labelNames: ['event'],
      registers: [metrics.registry],
    })
  }

  /** Shows where following stands as gauges, read when `/metrics` is. */
  watch(status: () => HeadStatus): void {
    const { metrics } = this
    const gauge = (name: string, help: string, read: (status: HeadStatus) => number) =>
      metrics.gauge(`upfront_head_${name}`, help, () => read(status()), 'max')
    gauge('following', 'Whether the head is followed just now', ({ following }) => Number(following))
    gauge('subscriptions', 'Nodes that announce heads over WebSocket', ({ subscribed }) => subscribed)
    gauge('trusted', 'Whether requests at latest stand on the followed head without asking', ({ trusted }) =>
      Number(trusted),
    )
    gauge('block', 'The followed head; 0 where none is followed', ({ head }) => Number(head ?? 0))
    gauge('age_seconds', 'Since the followed head was first seen', ({ ageMs }) => (ageMs ?? 0) / 1_000)
    gauge('interval_seconds', 'Learnt time between blocks', ({ intervalMs }) => intervalMs / 1_000)
  }

  observe(event: HeadEvent): void {
    this.events.inc({ event: event.kind })
    switch (event.kind) {
      case 'head': {
        const { header, reorganised, missed } = event
        if (reorganised) this.events.inc({ event: 'reorganised' })
        this.events.inc({ event: 'missed' }, missed)
        const entry = { block: String(header.number), hash: header.hash, missed }
        if (reorganised) this.logger.warn(entry, 'the head is no child of the one before')
        else this.logger.debug(entry, 'a new head')
        break
      }
      case 'lost':
        this.logger.warn(
          { upstream: event.host, reason: event.reason },
          'a node no longer announces heads; connecting again',
        )
        break
      case 'unserved':
        this.logger.warn({ hash: event.hash }, 'a block was announced that the upstream does not serve')
        break
      case 'unknown':
        this.logger.warn({ reason: event.reason }, 'the upstream could not be asked for its head')
        break
      case 'failed':
        this.logger.error({ reason: event.reason }, 'following the head failed')
        break
      case 'following':
        this.logger.debug('the head is followed')
        break
      case 'resting':
        this.logger.debug('nobody asks: the head is not followed until somebody does')
    }
  }
}

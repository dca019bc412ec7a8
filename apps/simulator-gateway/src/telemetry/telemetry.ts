import { Inject, Injectable } from '@nestjs/common'
import type { UpstreamObserver } from '@upfront/node'
import { LOGGER, type Logger, Metrics } from '@upfront/service'
import { BY_KIND, EVENTS, type Events, type Told } from './events.js'
import { type Figures, figuresOf } from './figures.js'
import { GAUGES, type Gauge, type Shown } from './gauges.js'

/** Logs and counts events as specified in {@link EVENTS}. */
@Injectable()
export class Telemetry {
  readonly figures: Figures
  private readonly said = new Set<string>()

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {
    this.figures = figuresOf(metrics)
  }

  tell<N extends keyof Events>(name: N, event: Events[N]): void {
    const told: Told<Events[N]> = EVENTS[name]
    if (told.count) told.count(this.figures, event)
    else if ('kind' in event) this.countKind(name, event.kind)
    let level = typeof told.level === 'function' ? told.level(event) : told.level
    if (told.once && this.said.size === this.said.add(name).size) level = 'debug'
    if (level === undefined || !this.logger.isLevelEnabled(level)) return
    const message = typeof told.message === 'function' ? told.message(event) : told.message
    this.logger[level](written(told.fields?.(event) ?? event), message ?? name)
  }

  private countKind(name: string, kind: string): void {
    const figure = BY_KIND[name.slice(0, name.indexOf('.'))]
    if (figure !== undefined) this.figures[figure].add(kind)
  }

  /** Registers gauges that read their values from `read` on each scrape. */
  show<N extends keyof Shown>(name: N, read: () => Shown[N]): void {
    const gauges: Record<string, Gauge<Shown[N]>> = GAUGES[name]
    for (const [metric, [help, of, type = 'max']] of Object.entries(gauges)) {
      if (type === 'counter') this.metrics.counter(metric, help, () => of(read()))
      else this.metrics.gauge(metric, help, () => of(read()), type)
    }
  }

  /** The observer of the node's client. */
  ofUpstream(): Required<UpstreamObserver> {
    return {
      onHttpRequest: (event) => this.tell('upstream.httpRequest', event),
      onCall: (event) => this.tell('upstream.call', event),
      onRetry: (event) => this.tell('upstream.retry', event),
      onHedge: (event) => this.tell('upstream.hedge', event),
      onCircuit: (event) => this.tell('upstream.circuit', event),
      onReads: (event) => this.tell('upstream.reads', event),
      onWorkaround: (event) => this.tell('upstream.workaround', event),
    }
  }
}

/** An event's fields for the log: without its kind, bigints in decimal, a header as number and hash. */
function written(event: object): object {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(event)) {
    if (name === 'header') Object.assign(fields, { block: String(value.number), hash: value.hash })
    else if (name !== 'kind') fields[name] = typeof value === 'bigint' ? String(value) : value
  }
  return fields
}

import { Inject, Injectable } from '@nestjs/common'
import { LOGGER, type Logger, Metrics } from '@upfront/service'
import type { CarryEvent, CarryPace, CarryStatus } from '@upfront/simulation'
import { Counter, Histogram } from 'prom-client'

const CARRY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const PACES: Record<CarryPace, number> = { each: 1, everySecond: 0.5, off: 0, distrusted: -1 }

/** Counts and logs how state is carried from block to block. */
@Injectable()
export class CarryJournal {
  private readonly blocks: Counter<'outcome'>
  private readonly listed: Counter
  private readonly audits: Counter<'outcome'>
  private readonly seconds: Histogram
  private readonly read: Counter

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {
    const registers = [metrics.registry]
    this.blocks = new Counter({
      name: 'upfront_carry_blocks_total',
      help: 'Followed blocks by what became of the state before them: carried, or why not',
      labelNames: ['outcome'],
      registers,
    })
    this.listed = new Counter({
      name: 'upfront_carry_listed_total',
      help: 'Blocks that were carried by their access list (EIP-7928), without executing them',
      registers,
    })
    this.audits = new Counter({
      name: 'upfront_carry_audits_total',
      help: 'Comparisons of carried values with the node: confirmed or contradicted',
      labelNames: ['outcome'],
      registers,
    })
    for (const outcome of ['confirmed', 'contradicted']) this.audits.inc({ outcome }, 0)
    this.seconds = new Histogram({
      name: 'upfront_carry_seconds',
      help: 'Executing and reading for a block that was carried',
      buckets: CARRY_SECONDS,
      registers,
    })
    this.read = new Counter({
      name: 'upfront_carry_reads_total',
      help: 'Values of state read from the node for blocks that were carried',
      registers,
    })
  }

  /** Shows the pace as a gauge, read when `/metrics` is. */
  watch(status: () => CarryStatus | undefined): void {
    this.metrics.gauge(
      'upfront_carry_pace',
      'Which blocks state is carried over: 1 each, 0.5 every second, 0 none, -1 none since an audit failed',
      () => PACES[status()?.pace ?? 'off'],
      'max',
    )
  }

  observe(event: CarryEvent): void {
    switch (event.kind) {
      case 'carried': {
        const { header, transactions, written, read, tookMs, isListed } = event
        this.blocks.inc({ outcome: 'carried' })
        if (isListed) this.listed.inc()
        this.seconds.observe(tookMs / 1_000)
        this.read.inc(read)
        this.logger.debug(
          { block: String(header.number), transactions, written, read, tookMs, isListed },
          'state was carried over a block',
        )
        break
      }
      case 'listRefused': {
        const entry = { block: String(event.header.number), detail: event.detail }
        this.logger.warn(
          entry,
          "the node's access list of a block is not the one that its header promises: it is executed",
        )
        break
      }
      case 'notCarried': {
        const { header, reason, detail, isFirst } = event
        this.blocks.inc({ outcome: reason })
        const entry = { block: String(header.number), reason, detail }
        if (isFirst)
          this.logger.info(entry, 'state is not carried over a block; further ones for this reason are only counted')
        else this.logger.debug(entry, 'state is not carried over a block')
        break
      }
      case 'pace':
        this.logger.warn({ pace: event.pace, reason: event.reason }, 'carrying state changes its pace')
        break
      case 'audited':
        this.audits.inc({ outcome: 'confirmed' })
        break
      case 'distrusted': {
        this.audits.inc({ outcome: 'contradicted' })
        const entry = { block: String(event.header.number), detail: event.detail }
        this.logger.error(entry, 'the node contradicts carried state: it is dropped, and none is carried any more')
      }
    }
  }
}

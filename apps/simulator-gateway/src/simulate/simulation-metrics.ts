import { Injectable } from '@nestjs/common'
import { Metrics } from '@upfront/service'
import type { Rejection } from '@upfront/simulation'
import { Counter } from 'prom-client'

/** Counts simulations. */
@Injectable()
export class SimulationMetrics {
  /** Plain numbers, read when `/metrics` is: updating a prom-client counter costs more. */
  private readonly counts = { cached: 0, read: 0, gas: 0, blocks: 0, native: 0 }

  constructor(metrics: Metrics) {
    const { counts } = this
    new Counter({
      name: 'upfront_simulations_total',
      help: 'Simulations by where their state came from: all of it cached, or some read from the upstream',
      labelNames: ['state'],
      registers: [metrics.registry],
      collect() {
        this.reset()
        this.inc({ state: 'cached' }, counts.cached)
        this.inc({ state: 'read' }, counts.read)
      },
    })
    metrics.counter('upfront_simulated_gas_total', 'Gas used by simulated calls, failed ones too', () => counts.gas)
    metrics.counter(
      'upfront_native_precompile_rejections_total',
      "Simulations refused as they reached code that the chain's nodes have of their own (Base's B20)",
      () => counts.native,
    )
    metrics.counter('upfront_simulated_blocks_total', 'Blocks simulated', () => counts.blocks)
  }

  rejected({ kind }: Rejection): void {
    if (kind === 'nativePrecompile') this.counts.native += 1
  }

  /** @param cached whether no state had to be read for it */
  simulated(blocks: number, gas: bigint, cached: boolean): void {
    const { counts } = this
    if (cached) counts.cached += 1
    else counts.read += 1
    counts.blocks += blocks
    counts.gas += Number(gas)
  }
}

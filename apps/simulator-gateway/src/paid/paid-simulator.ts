import { Injectable } from '@nestjs/common'
import type { Awaitable } from '@upfront/node'
import type { ReceiptBlock } from '@upfront/receipt'
import type { SimulationAnswer } from '@upfront/simulation'
import type { RequestView } from '../pending/request-view.js'
import type { ShownSimulation } from '../requests/rpc-method.js'
import type { SimulationContext } from '../simulate/simulation-context.js'
import { type SimulationMethod, Simulator } from '../simulate/simulator.js'
import { receiptBlock } from './receipt-block.js'
import { WitnessMaker } from './witness-maker.js'

export interface PaidSimulation {
  answer: SimulationAnswer
  /** What it stood on. */
  block: ReceiptBlock
  /** Its JSON, as bytes, where it was asked for. */
  witness?: Buffer
}

/** Simulates what is paid for: with what a bill says of it. */
@Injectable()
export class PaidSimulator {
  constructor(
    private readonly simulator: Simulator,
    private readonly witnesses: WitnessMaker,
  ) {}

  /**
   * @param params of the method
   * @throws or rejects with RpcError, ClientGone
   */
  simulate(
    method: SimulationMethod,
    params: unknown,
    context: SimulationContext,
    { withWitness }: { withWitness: boolean },
  ): Awaitable<PaidSimulation> {
    return this.simulator.simulate(method, params, context, (answer, simulation, inspection) =>
      this.sold({ answer, simulation, inspection }, context.view, { withWitness }),
    )
  }

  /** What a bill says of a simulation. @throws or rejects with what making the witness does */
  sold(
    { answer, simulation, inspection }: Omit<ShownSimulation, 'params'>,
    view: RequestView,
    { withWitness }: { withWitness: boolean },
  ): Awaitable<PaidSimulation> {
    const sold = { answer, block: receiptBlock(simulation, view) }
    if (!withWitness) return sold
    const made = this.witnesses.of(simulation, sold, inspection)
    return made.then((witness) => ({ ...sold, witness }))
  }
}

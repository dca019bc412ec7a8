import { Injectable } from '@nestjs/common'
import { type Awaitable, andThen } from '@upfront/node'
import type { Inspection } from '@upfront/protocol'
import type { ReceiptBlock } from '@upfront/receipt'
import type { InspectedAnswer, Simulation, SimulationAnswer } from '@upfront/simulation'
import { simulateGrowing } from '../simulate/growing-answer.js'
import { Inspector } from '../simulate/inspector.js'
import { type SimulationContext, Simulator } from '../simulate/simulator.js'
import { receiptBlock } from './receipt-block.js'
import { WitnessMaker } from './witness-maker.js'

export interface PaidSimulation {
  answer: SimulationAnswer
  /** Gas of further runs, where more was asked for than the outcome. */
  furtherGas: bigint
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
    private readonly inspector: Inspector,
    private readonly witnesses: WitnessMaker,
  ) {}

  /**
   * @param params of `eth_simulateV1`
   * @throws RpcError, ClientGone
   */
  simulate(
    params: unknown,
    context: SimulationContext,
    { withWitness }: { withWitness: boolean },
  ): Awaitable<PaidSimulation> {
    return this.simulator.simulateBy(params, context.limits, context, (simulation) =>
      andThen(simulateGrowing(simulation, context), (answer) =>
        andThen(this.sold(simulation, { ...answer, furtherGas: 0n }, context, withWitness), (made) => ({
          answer,
          made,
        })),
      ),
    )
  }

  /**
   * @param params of `upfront_simulate`
   * @throws or rejects with RpcError, ClientGone
   */
  inspect(
    params: unknown,
    context: SimulationContext,
    { withWitness }: { withWitness: boolean },
  ): Awaitable<PaidSimulation> {
    return this.inspector.simulateWith(params, context, (answer, simulation, inspection) =>
      this.sold(simulation, answer, context, withWitness, inspection),
    )
  }

  private sold(
    simulation: Simulation,
    { furtherGas, ...answer }: InspectedAnswer,
    { view }: SimulationContext,
    withWitness: boolean,
    inspection?: Inspection,
  ): Awaitable<PaidSimulation> {
    const sold = { answer, furtherGas, block: receiptBlock(simulation, view) }
    if (!withWitness) return sold
    const made = this.witnesses.of(simulation, sold, inspection)
    return made.then((witness) => ({ ...sold, witness }))
  }
}

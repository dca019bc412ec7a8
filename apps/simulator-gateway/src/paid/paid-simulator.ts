import type { ServerResponse } from 'node:http'
import { Injectable } from '@nestjs/common'
import { type Awaitable, andThen } from '@upfront/node'
import type { Inspection } from '@upfront/protocol'
import type { ReceiptBlock } from '@upfront/receipt'
import type { InspectedAnswer, Simulation, SimulationAnswer } from '@upfront/simulation'
import { Environment } from '../environment/environment.js'
import type { RequestLifetime } from '../limits/request-lifetime.js'
import { Turns } from '../limits/turns.js'
import { simulateGrowing } from '../simulate/growing-answer.js'
import { Inspector } from '../simulate/inspector.js'
import { freeLimits, type RequestLimits, type SimulationContext, Simulator } from '../simulate/simulator.js'
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

/** The simulator with the limits of the paid routes, in the same queue as everybody. */
@Injectable()
export class PaidSimulator {
  private readonly limits: RequestLimits

  constructor(
    private readonly simulator: Simulator,
    private readonly inspector: Inspector,
    private readonly turns: Turns,
    private readonly environment: Environment,
    private readonly witnesses: WitnessMaker,
  ) {
    this.limits = {
      ...freeLimits(environment),
      gas: BigInt(environment.PAID_GAS_CAP),
      upstreamReads: environment.PAID_UPSTREAM_READS,
    }
  }

  /**
   * Does a request's work once it is its turn.
   * @param payer takes turns with others that pay, and goes before all that do not
   * @param length of the body
   * @throws Overloaded, ClientGone, what `work` throws
   */
  async inTurn<T>(
    payer: string,
    response: ServerResponse,
    length: number,
    work: (time: RequestLifetime) => Promise<T>,
  ): Promise<T> {
    const client = { name: payer.toLowerCase(), pays: true }
    return this.turns.take({ client, response, timeoutMs: this.environment.PAID_TIMEOUT_MS, length }, work)
  }

  /**
   * @param params of `eth_simulateV1`
   * @throws RpcError, ClientGone
   */
  simulate(
    params: unknown,
    context: SimulationContext,
    { withWitness }: { withWitness: boolean },
  ): Awaitable<PaidSimulation> {
    return this.simulator.simulateBy(params, this.limits, context, (simulation) =>
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
    return this.inspector.simulateWith(params, this.limits, context, (answer, simulation, inspection) =>
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

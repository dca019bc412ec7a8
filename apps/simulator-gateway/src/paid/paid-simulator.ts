import type { ServerResponse } from 'node:http'
import { Injectable } from '@nestjs/common'
import type { Awaitable } from '@upfront/node'
import type { ReceiptBlock } from '@upfront/receipt'
import type { SimulationAnswer } from '@upfront/simulation'
import { Environment } from '../environment/environment.js'
import type { RequestLifetime } from '../limits/request-lifetime.js'
import { Turns } from '../limits/turns.js'
import { freeLimits, type RequestLimits, type SimulationContext, Simulator } from '../simulate/simulator.js'
import { receiptBlock } from './receipt-block.js'
import { WitnessMaker } from './witness-maker.js'

export interface PaidSimulation {
  answer: SimulationAnswer
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

  /** @throws RpcError, ClientGone */
  simulate(
    params: unknown,
    context: SimulationContext,
    { withWitness }: { withWitness: boolean },
  ): Awaitable<PaidSimulation> {
    return this.simulator.simulateWith(params, this.limits, context, (answer, simulation) => {
      const block = receiptBlock(simulation, context.view)
      if (!withWitness) return { answer, block }
      return this.witnesses.of(simulation, answer, block).then((witness) => ({ answer, block, witness }))
    })
  }
}

import type { ServerResponse } from 'node:http'
import { Injectable } from '@nestjs/common'
import type { Dialect } from '@upfront/protocol'
import type { SimulationAnswer } from '@upfront/simulation'
import { Environment } from '../environment.js'
import { Admission } from '../http/admission.js'
import { RequestLifetime } from '../http/request-lifetime.js'
import type { RequestView } from '../pending/request-view.js'
import { freeLimits, type RequestLimits, Simulator } from '../simulate/simulator.js'

/** The simulator with the limits of the paid routes, in the same queue as everybody. */
@Injectable()
export class PaidSimulator {
  private readonly limits: RequestLimits

  constructor(
    private readonly simulator: Simulator,
    private readonly admission: Admission,
    private readonly environment: Environment,
  ) {
    this.limits = {
      ...freeLimits(environment),
      gas: BigInt(environment.PAID_GAS_CAP),
      upstreamReads: environment.PAID_UPSTREAM_READS,
    }
  }

  /**
   * @param view filled with what the answer stands on
   * @throws RpcError, ClientGone
   */
  async simulate(
    params: unknown,
    dialect: Dialect,
    view: RequestView,
    response: ServerResponse,
  ): Promise<SimulationAnswer> {
    const lifetime = new RequestLifetime(response, this.environment.PAID_TIMEOUT_MS)
    const { signal, deadline } = lifetime
    try {
      const turn = this.admission.enter(signal)
      if (turn !== undefined) await turn
      try {
        return await this.simulator.simulate(params, this.limits, { dialect, signal, deadline, view })
      } finally {
        this.admission.leave()
      }
    } finally {
      lifetime.end()
    }
  }
}

import { Inject, Injectable } from '@nestjs/common'
import { ChainState } from '@upfront/chain-state'
import { type Dialect, decodeSimulationRequest, type SimulationLimits } from '@upfront/protocol'
import { type Engine, type SimulationAnswer, type SimulationPlan, simulate } from '@upfront/simulation'
import { Environment } from '../environment.js'
import { Metrics } from '../metrics/metrics.js'
import { withAnswerLimit } from './answer-limit.js'
import { ENGINE, type EngineChoice } from './engine-choice.js'
import { ServedChain } from './served-chain.js'

/** What one request may use; the free endpoint and the paid routes differ in this alone. */
export interface RequestLimits extends SimulationLimits {
  /** Values of state read from upstream. */
  upstreamReads: number
}

/** The limits of `POST /`. */
export function freeLimits(environment: Environment): RequestLimits {
  return {
    blocks: 256,
    callsPerBlock: environment.MAX_CALLS_PER_BLOCK,
    totalCalls: environment.MAX_CALLS,
    gas: BigInt(environment.FREE_GAS_CAP),
    upstreamReads: environment.MAX_UPSTREAM_READS,
  }
}

export interface SimulationContext {
  dialect: Dialect
  signal: AbortSignal
  /** When the signal aborts for want of time, by `performance.now()`. */
  deadline: number
}

/** Left of the deadline when reads from upstream end, so that it is the upstream that the answer names. */
const READ_MARGIN_MS = 250

/** `eth_simulateV1` on the chain that the gateway serves. */
@Injectable()
export class Simulator {
  private readonly engine: Engine

  constructor(
    private readonly chain: ChainState,
    private readonly served: ServedChain,
    @Inject(ENGINE) choice: EngineChoice,
    private readonly metrics: Metrics,
    environment: Environment,
  ) {
    this.engine = withAnswerLimit(choice.engine, environment.MAX_ANSWER_BYTES)
  }

  /**
   * @param params of `eth_simulateV1`, as they came
   * @throws RpcError, or the signal's reason
   */
  async simulate(params: unknown, limits: RequestLimits, context: SimulationContext): Promise<SimulationAnswer> {
    const { dialect, signal } = context
    const request = decodeSimulationRequest(params, limits)
    const rules = await this.served.rules(signal)
    const deadline = context.deadline - READ_MARGIN_MS
    const answer = await this.chain.onBlock(request.block, { signal, deadline }, (block) => {
      const { engine } = this
      const reading = { readLimit: limits.upstreamReads, deadline }
      const openState = (plan: SimulationPlan) => this.chain.stateSource(block, reading, plan)
      const { header: base, opening } = block
      return simulate({ request, base, ...(opening && { opening }), openState, rules, engine, limits, signal, dialect })
    })
    this.metrics.simulated(answer.blocks.length, answer.gasUsed)
    return answer
  }

  /** Nest's hook, once nothing is in flight. */
  async onApplicationShutdown(): Promise<void> {
    await this.engine.close()
    await this.chain.close()
  }
}

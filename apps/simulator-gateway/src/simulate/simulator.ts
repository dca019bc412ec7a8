import { Inject, Injectable } from '@nestjs/common'
import { ChainState } from '@upfront/chain-state'
import { type Awaitable, andThen, type CancelSignal } from '@upfront/node'
import {
  type BlockHeader,
  type BlockParameter,
  type Dialect,
  decodeSimulationRequest,
  type Hash,
  type JsonText,
  type SimulationLimits,
  ZERO_ADDRESS,
} from '@upfront/protocol'
import {
  type ChainRules,
  type Engine,
  isOpForkActive,
  rulesAt,
  type Simulation,
  type SimulationAnswer,
  type StateLayer,
  type StateRead,
  type StateSource,
  type StateValue,
  simulate,
  simulateToJson,
} from '@upfront/simulation'
import { ENGINE, type EngineChoice } from '../chain/engine-choice.js'
import { ServedChain } from '../chain/served-chain.js'
import { Environment } from '../environment/environment.js'
import { RequestView } from '../pending/request-view.js'
import { type ReadLimits, Standpoints } from '../pending/standpoints.js'
import { withAnswerLimit } from './answer-limit.js'
import { SimulationMetrics } from './simulation-metrics.js'

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
  /** May be made only where it is asked for: what is answered at once never asks. */
  readonly signal: CancelSignal
  /** When the signal aborts for want of time, by `performance.now()`. */
  deadline: number
  /** What this request's answers stand on. */
  view: RequestView
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
    private readonly standpoints: Standpoints,
    @Inject(ENGINE) choice: EngineChoice,
    private readonly metrics: SimulationMetrics,
    private readonly environment: Environment,
  ) {
    this.engine = withAnswerLimit(choice.engine, environment.MAX_ANSWER_BYTES)
  }

  /**
   * @param params of `eth_simulateV1`, as they came
   * @throws RpcError, or the signal's reason
   */
  async simulate(params: unknown, limits: RequestLimits, context: SimulationContext): Promise<SimulationAnswer> {
    return this.run(params, limits, context, simulate, ({ blocks }) => blocks.length)
  }

  /** `simulate` as JSON text; at once where all it needs is there. */
  answer(params: unknown, limits: RequestLimits, context: SimulationContext): Awaitable<JsonText> {
    const text = this.run(params, limits, context, simulateToJson, ({ blocks }) => blocks)
    return andThen(text, ({ json }) => json)
  }

  /**
   * Simulates an empty call that no metric counts. A first request that finds V8's code compiled takes 15 ms less.
   * @throws or rejects with what a request would fail with
   */
  rehearse(): Awaitable<unknown> {
    const timeoutMs = this.environment.REQUEST_TIMEOUT_MS
    const context: SimulationContext = {
      dialect: this.environment.DIALECT,
      signal: AbortSignal.timeout(timeoutMs),
      deadline: performance.now() + timeoutMs,
      view: new RequestView(),
    }
    const params = [{ blockStateCalls: [{ calls: [{ to: ZERO_ADDRESS }] }] }, 'latest']
    return this.run(params, freeLimits(this.environment), context, simulateToJson)
  }

  private run<T extends { gasUsed: bigint }>(
    params: unknown,
    limits: RequestLimits,
    context: SimulationContext,
    simulate: (simulation: Simulation) => Awaitable<T>,
    blocksOf?: (answer: T) => number,
  ): Awaitable<T> {
    const request = decodeSimulationRequest(params, limits)
    const { engine } = this
    const { dialect, view } = context
    const reading = new Reading(context, limits.upstreamReads)
    const reads = new ReadsNoticed()
    const answer = andThen(this.served.rules(context), (rules) =>
      this.standpoints.on(request.block, view, reading, (standpoint) =>
        andThen(this.daFootprintScalar(request.block, standpoint.base, rules, reading), (daFootprintScalar) =>
          // Field by field: spreading costs more than some simulations.
          simulate({
            request,
            base: standpoint.base,
            opening: standpoint.opening,
            openState: (plan) => new NoticedState(standpoint.openState(plan), reads),
            rules,
            engine,
            limits,
            daFootprintScalar,
            cancellation: standpoint.cancellation,
            dialect,
          }),
        ),
      ),
    )
    return andThen(answer, (answer) => {
      if (blocksOf) this.metrics.simulated(blocksOf(answer), answer.gasUsed, !reads.any)
      return answer
    })
  }

  /** Of an OP-stack head; an older block's own deposit tells where its state may be gone. */
  private daFootprintScalar(
    block: BlockParameter,
    base: BlockHeader,
    rules: ChainRules,
    reading: ReadLimits,
  ): Awaitable<bigint | undefined> {
    if (block.kind === 'tag' || !isOpForkActive(rulesAt(rules, base.number, base.timestamp), 'jovian')) return undefined
    return this.chain.daFootprintScalar(base, reading)
  }
}

/** What one request's reads keep to. */
class Reading implements ReadLimits {
  readonly deadline: number

  constructor(
    private readonly context: SimulationContext,
    readonly readLimit: number,
  ) {
    this.deadline = context.deadline - READ_MARGIN_MS
  }

  get signal(): CancelSignal {
    return this.context.signal
  }
}

/** Whether a simulation had to read state: where not, all of it was cached. */
class ReadsNoticed {
  any = false
}

class NoticedState implements StateSource {
  readonly key: Hash
  readonly blockNumber: bigint
  readonly layers: readonly StateLayer[]

  constructor(
    private readonly state: StateSource,
    private readonly noticed: ReadsNoticed,
  ) {
    this.key = state.key
    this.blockNumber = state.blockNumber
    this.layers = state.layers
  }

  read(reads: readonly StateRead[], signal: CancelSignal): Promise<StateValue[]> {
    this.noticed.any = true
    return this.state.read(reads, signal)
  }
}

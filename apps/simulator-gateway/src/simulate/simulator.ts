import { Injectable } from '@nestjs/common'
import { daFootprintScalar } from '@upfront/head'
import {
  type Awaitable,
  andThen,
  type Cancellation,
  type CancelSignal,
  inTurns,
  recovered,
  UpstreamClient,
} from '@upfront/node'
import {
  type BlockHeader,
  type BlockParameter,
  type Dialect,
  decodeSimulationRequest,
  decodeSimulationRequestInParts,
  ErrorCode,
  RpcError,
  type SimulationLimits,
  type SimulationRequest,
  ZERO_ADDRESS,
} from '@upfront/protocol'
import {
  CallsRan,
  type ChainRules,
  Driver,
  isOpForkActive,
  ReadBudget,
  rulesAt,
  type Simulation,
  type SimulationAnswer,
  simulate,
} from '@upfront/simulation'
import { ServedChain } from '../chain/served-chain.js'
import { Environment } from '../environment/environment.js'
import type { Cost } from '../limits/free-budget.js'
import { Overloaded } from '../limits/overloaded.js'
import { Preconfirmed } from '../pending/preconfirmed.js'
import { RequestView } from '../pending/request-view.js'
import { SimulationBases, type TimeLimits } from '../pending/simulation-base.js'
import { simulateGrowing } from './growing-answer.js'
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
    answerBytes: environment.MAX_ANSWER_BYTES,
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
  /** What it may use. */
  readonly limits: RequestLimits
  /** It is paid for. */
  readonly isSold?: boolean
  /** Sees to it that work under way has so much memory, until the request is answered. @throws Overloaded where there is none */
  reserve?(bytes: number): void
  /** The body is so large that decoding takes several turns of the event loop. */
  isLarge?: boolean
  /** Counts what a simulation took, where that is free of charge. */
  spend?(cost: Cost): void
  /** Counts what work took that ended in an error, and so is never charged. */
  spendInVain?(cost: Cost): void
}

/** Left of the deadline when reads from upstream end, so that it is the upstream that the answer names. */
const READ_MARGIN_MS = 250

/** When a request's reads end, by `performance.now()`. @param deadline of the request */
export function readUntil(deadline: number): number {
  return deadline - READ_MARGIN_MS
}

/** `eth_simulateV1` on the chain that the gateway serves. */
@Injectable()
export class Simulator {
  constructor(
    private readonly client: UpstreamClient,
    private readonly driver: Driver,
    private readonly served: ServedChain,
    private readonly bases: SimulationBases,
    private readonly preconfirmed: Preconfirmed,
    private readonly metrics: SimulationMetrics,
    private readonly environment: Environment,
  ) {}

  /**
   * At once where all it needs is there.
   * @param params of `eth_simulateV1`, as they came
   * @throws or rejects with RpcError, or the signal's reason
   */
  simulate(params: unknown, context: SimulationContext): Awaitable<SimulationAnswer> {
    const { limits } = context
    const simulated = spending(limits, context, () =>
      this.run(params, limits, context, (simulation) => simulateGrowing(simulation, context)),
    )
    return andThen(simulated, (answer) => {
      this.metrics.simulated(answer.blocks, answer.gasUsed, answer.reads === 0)
      context.spend?.(answer)
      return answer
    })
  }

  /**
   * Has `work` simulate the request, in as many runs as it needs.
   * @throws or rejects with what `simulate` and `work` do
   */
  simulateBy<T>(
    params: unknown,
    limits: RequestLimits,
    context: SimulationContext,
    work: (simulation: Simulation) => Awaitable<{ answer: SimulationAnswer; made: T }>,
  ): Awaitable<T> {
    const simulated = spending(limits, context, () => this.run(params, limits, context, work))
    return andThen(simulated, ({ answer, made }) => {
      this.metrics.simulated(answer.blocks, answer.gasUsed, answer.reads === 0)
      return made
    })
  }

  /**
   * Simulates an empty call that no metric counts, so that the first request finds V8's code compiled.
   * @throws or rejects with what a request would fail with
   */
  rehearse(): Awaitable<unknown> {
    const timeoutMs = this.environment.REQUEST_TIMEOUT_MS
    const context: SimulationContext = {
      dialect: this.environment.DIALECT,
      signal: AbortSignal.timeout(timeoutMs),
      deadline: performance.now() + timeoutMs,
      view: new RequestView(),
      limits: freeLimits(this.environment),
    }
    const params = [{ blockStateCalls: [{ calls: [{ to: ZERO_ADDRESS }] }] }, 'latest']
    return this.run(params, context.limits, context, simulate)
  }

  private run<T>(
    params: unknown,
    limits: RequestLimits,
    context: SimulationContext,
    work: (simulation: Simulation) => Awaitable<T>,
  ): Awaitable<T> {
    return context.isLarge
      ? inTurns(decodeSimulationRequestInParts(params, limits), context).then((request) =>
          this.runDecoded(request, limits, context, work),
        )
      : this.runDecoded(decodeSimulationRequest(params, limits), limits, context, work)
  }

  private runDecoded<T>(
    request: SimulationRequest,
    limits: RequestLimits,
    context: SimulationContext,
    work: (simulation: Simulation) => Awaitable<T>,
  ): Awaitable<T> {
    const { driver } = this
    const { dialect, view } = context
    const time = new ReadDeadline(context)
    return andThen(this.served.rules(context), (rules) =>
      this.bases.on(this.blockMeant(request.block, rules, view), view, time, ({ base, opening, state, cancellation }) =>
        andThen(this.daFootprintScalar(request.block, base, rules, time), (daFootprintScalar) =>
          // Field by field: spreading costs more than some simulations.
          work({
            request,
            base,
            opening,
            state,
            rules,
            driver,
            limits,
            daFootprintScalar,
            budget: new ReadBudget(limits.upstreamReads, time.deadline),
            cancellation,
            dialect,
          }),
        ),
      ),
    )
  }

  /** After Denim a node has no block under construction: `pending` is the latest, never one more. */
  private blockMeant(block: BlockParameter, rules: ChainRules, view: RequestView): BlockParameter {
    if (rules.isUncertain) view.rulesAreUncertain = true
    const { subsecond } = rules.schedule
    const isPending = block.kind === 'tag' && block.tag === 'pending' && !this.preconfirmed.enabled
    const sharesSeconds = subsecond !== undefined && subsecond.since * 1_000n <= BigInt(Date.now())
    return isPending && sharesSeconds ? { kind: 'tag', tag: 'latest' } : block
  }

  /** Of an OP-stack head; an older block's own deposit tells where its state may be gone. */
  private daFootprintScalar(
    block: BlockParameter,
    base: BlockHeader,
    rules: ChainRules,
    time: TimeLimits,
  ): Awaitable<bigint | undefined> {
    if (block.kind === 'tag' || !isOpForkActive(rulesAt(rules, base.number, base.timestamp), 'jovian')) return undefined
    return daFootprintScalar(this.client, base, time)
  }
}

/** No engine executes more gas in a millisecond. */
const GAS_PER_MS = 1_000_000

/**
 * Does the work. How far it came where it met a limit of its own is not known: it counts as having taken what it may take. Where it was ended
 * because memory was short, which others may have used, or where calls ran before one that is no valid transaction, it counts as what it can have
 * taken in its time.
 */
export function spending<T>(
  { gas }: RequestLimits,
  context: SimulationContext,
  work: () => Awaitable<T>,
): Awaitable<T> {
  const startedAt = performance.now()
  return recovered(work, (error) => {
    const possible = BigInt(Math.ceil(performance.now() - startedAt) * GAS_PER_MS)
    const inItsTime = possible < gas ? possible : gas
    if (error instanceof Overloaded || (error instanceof RpcError && error.cause instanceof CallsRan)) {
      context.spendInVain?.({ gasUsed: inItsTime })
    } else if (error instanceof RpcError && error.code === ErrorCode.limitExceeded) {
      context.spendInVain?.({ gasUsed: gas })
    }
    throw error
  })
}

/** The part of a request's time in which the node is asked. */
export class ReadDeadline implements TimeLimits {
  readonly deadline: number
  readonly #request: Cancellation & { deadline: number }

  constructor(request: Cancellation & { deadline: number }) {
    this.#request = request
    this.deadline = readUntil(request.deadline)
  }

  get signal(): CancelSignal {
    return this.#request.signal
  }
}

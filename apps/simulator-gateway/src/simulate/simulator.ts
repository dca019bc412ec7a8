import { Injectable } from '@nestjs/common'
import { Chain, Preconfirmed } from '@upfront/chain'
import { type Awaitable, andThen, runInSlices, UpstreamClient } from '@upfront/node'
import {
  type BlockHeader,
  decodeInspection,
  decodeSimulationRequest,
  decodeSimulationRequestInParts,
  type Inspection,
  type SimulationRequest,
  type StateParameter,
  ZERO_ADDRESS,
} from '@upfront/protocol'
import {
  type ChainRules,
  Driver,
  daFootprintScalar,
  gasOf,
  inspect,
  isOpForkActive,
  isRecorded,
  ReadBudget,
  recordingOf,
  rulesAt,
  type Simulation,
  type SimulationAnswer,
  simulate,
  TokenLayouts,
} from '@upfront/simulation'
import { Environment } from '../environment/environment.js'
import { RequestView } from '../pending/request-view.js'
import type { SimulationBase, TimeLimits } from '../pending/simulation-base.js'
import { SimulationBases } from '../pending/simulation-bases.js'
import { WaitingTransactions } from '../pending/waiting-transactions.js'
import { Telemetry } from '../telemetry/telemetry.js'
import {
  countRefusedRun,
  countSpending,
  type LongTurn,
  MaximumSpent,
  runInRecordTurn,
  simulateGrowing,
  type WorkCost,
} from './run-limits.js'
import {
  bounded,
  freeLimits,
  narrowed,
  ReadDeadline,
  type RequestLimits,
  type SimulationContext,
} from './simulation-context.js'

/** Our two simulation methods; all others use one of them. */
export type SimulationMethod = 'eth_simulateV1' | 'upfront_simulate'

/** The state that a request's work executes on, and its budget. */
export interface Execution extends SimulationBase {
  rules: ChainRules
  budget: ReadBudget
  /** Counted once the work is over. */
  taken: WorkCost
}

/** A decoded simulation request with its limits. */
export interface DecodedSimulation {
  request: SimulationRequest
  inspection: Inspection | undefined
  /** The inspection needs recorded calls, not just outcomes. */
  isRecording: boolean
  limits: RequestLimits
}

type SimulationWork<T> = (
  answer: SimulationAnswer,
  simulation: Simulation,
  inspection: Inspection | undefined,
) => Awaitable<T>

/** Limit of an inspected answer, which is built on the event loop, in bytes. */
const MAX_INSPECTED_BYTES = 4 * 1024 * 1024

/** Executes on the served chain: the only path from requests to the engine. */
@Injectable()
export class Simulator {
  private readonly layouts = new TokenLayouts()

  constructor(
    private readonly client: UpstreamClient,
    private readonly driver: Driver,
    private readonly chain: Chain,
    private readonly bases: SimulationBases,
    private readonly preconfirmed: Preconfirmed,
    private readonly waiting: WaitingTransactions,
    private readonly telemetry: Telemetry,
    private readonly environment: Environment,
  ) {}

  /**
   * Simulates, then runs `work` on the answer; synchronously if no state is missing. `upfront_simulate` is `eth_simulateV1` with an
   * inspection.
   * @param params unchanged from the request
   * @throws or rejects with RpcError, the signal's reason or what `work` throws
   */
  simulate<T>(
    method: SimulationMethod,
    params: unknown,
    context: SimulationContext,
    work: SimulationWork<T>,
  ): Awaitable<T> {
    return andThen(this.decode(method, params, context), (decoded) => this.run(decoded, context, work))
  }

  /** Decodes the params. @throws or rejects with RpcError -32602 with the place of the error */
  decode(method: SimulationMethod, params: unknown, context: SimulationContext): Awaitable<DecodedSimulation> {
    const asked = method === 'upfront_simulate' ? decodeInspection(params) : { params, inspection: undefined }
    const { inspection } = asked
    const isRecording = inspection !== undefined && isRecorded(recordingOf(inspection))
    const limits = isRecording ? narrowed(context.limits, MAX_INSPECTED_BYTES) : context.limits
    const request = context.isLarge
      ? runInSlices(decodeSimulationRequestInParts(asked.params, limits), context)
      : decodeSimulationRequest(asked.params, limits)
    return andThen(request, (request) => ({ request, inspection, isRecording, limits }))
  }

  /**
   * `simulate` for decoded params.
   * @param probes that an inspection will probably ask for @param isTrial see `SimulationPlan`
   * @throws or rejects with what `simulate` throws
   */
  run<T>(
    { request, inspection, isRecording, limits }: DecodedSimulation,
    context: SimulationContext,
    work: SimulationWork<T>,
    { probes, isTrial }: Pick<Simulation, 'probes' | 'isTrial'> = {},
  ): Awaitable<T> {
    // Paid runs must be reproducible by anyone, so they don't use layouts learnt from earlier requests.
    const layouts = context.isSold ? undefined : this.layouts
    return this.simulateOn(request, limits, context, (simulation, taken) => {
      const inTurn = (turn?: LongTurn): Awaitable<T> => {
        const run = (simulation: Simulation) => {
          const { gasOfAllRuns } = limits
          if (gasOfAllRuns !== undefined && taken.gasUsed >= gasOfAllRuns)
            throw new MaximumSpent(taken.gasUsed, gasOfAllRuns)
          // An earlier run may have changed them.
          simulation.limits = limits
          return andThen(
            countRefusedRun(limits, context, () => simulateGrowing(simulation, context, turn), simulation.isSpare),
            (answer) => {
              taken.gasUsed += gasOf(answer)
              return answer
            },
          )
        }
        if (isTrial) simulation.isTrial = true
        if (inspection?.outcome && layouts !== undefined) {
          const time = { signal: simulation.cancellation.signal, deadline: simulation.budget.deadline }
          simulation.findRecentBase = (place) => this.bases.findRecentBase(simulation, place, time)
          simulation.seenWaiting = (facts) => this.waiting.changing(facts)
        }
        const answer =
          inspection === undefined ? run(simulation) : inspect(simulation, inspection, run, layouts, probes)
        return andThen(answer, (answer) => {
          if (isRecording) bounded(answer.json, limits)
          const { blocks, gasUsed, reads } = answer
          this.telemetry.tell('simulation.done', { blocks: blocks.length, gasUsed, isHeld: reads === 0 })
          return work(answer, simulation, inspection)
        })
      }
      return isRecording ? runInRecordTurn(context, inTurn) : inTurn()
    })
  }

  /**
   * Runs `work` on the block that the parameter names, within the request's limits; again if that block is reorganised away while it runs.
   * The cost is counted when it is over.
   * @throws or rejects with RpcError, the signal's reason or what `work` throws
   */
  execute<T>(
    block: StateParameter,
    limits: RequestLimits,
    context: SimulationContext,
    work: (execution: Execution, time: TimeLimits) => Awaitable<T>,
  ): Awaitable<T> {
    const { view } = context
    const time = new ReadDeadline(context)
    return countSpending(limits, context, (taken) =>
      andThen(this.chain.rules(context), (rules) => {
        if (rules.isUncertain) view.rulesAreUncertain = true
        return this.bases.withBase(this.normalizeParameter(block, rules), view, time, (on) => {
          const { base, opening, inside, earlierLogs, state, cancellation } = on
          taken.gasUsed = 0n
          const budget = new ReadBudget(limits.upstreamReads, time.deadline)
          taken.budget = budget
          // Listed one by one: spreading costs more than some simulations.
          return work({ base, opening, inside, earlierLogs, state, cancellation, rules, budget, taken }, time)
        })
      }),
    )
  }

  /** The driver, counting the gas of every run. */
  countingDriver(taken: WorkCost): Pick<Driver, 'simulate' | 'read'> {
    const { driver } = this
    return {
      read: (...asked) => driver.read(...asked),
      simulate: (...planned) =>
        andThen(driver.simulate(...planned), (answer) => {
          taken.gasUsed += answer.gasUsed
          return answer
        }),
    }
  }

  /**
   * Simulates an empty call that no metric counts, so that the first request finds code that V8 has compiled.
   * @throws or rejects with what a request would fail with
   */
  warmUp(): Awaitable<unknown> {
    const { timeoutMs } = this.environment.LIMITS
    const context: SimulationContext = {
      dialect: this.environment.DIALECT,
      signal: AbortSignal.timeout(timeoutMs),
      deadline: performance.now() + timeoutMs,
      view: new RequestView(),
      limits: freeLimits(this.environment),
    }
    const params = [{ blockStateCalls: [{ calls: [{ to: ZERO_ADDRESS }] }] }, 'latest']
    const request = decodeSimulationRequest(params, context.limits)
    return this.simulateOn(request, context.limits, context, simulate)
  }

  private simulateOn<T>(
    request: SimulationRequest,
    limits: RequestLimits,
    context: SimulationContext,
    work: (simulation: Simulation, taken: WorkCost) => Awaitable<T>,
  ): Awaitable<T> {
    const { driver } = this
    const { dialect } = context
    return this.execute(
      request.block,
      limits,
      context,
      ({ base, opening, state, cancellation, rules, budget, taken }, time) =>
        andThen(this.daFootprintScalar(request.block, base, rules, time), (daFootprintScalar) =>
          work(
            {
              request,
              base,
              opening,
              state,
              rules,
              driver,
              limits,
              daFootprintScalar,
              budget,
              cancellation,
              dialect,
            },
            taken,
          ),
        ),
    )
  }

  /** After Denim nodes have no pending block: `pending` means the latest block, never one more. */
  private normalizeParameter(block: StateParameter, { schedule: { subsecond } }: ChainRules): StateParameter {
    const isPending = block.kind === 'tag' && block.tag === 'pending' && !this.preconfirmed.enabled
    const sharesSeconds = subsecond !== undefined && subsecond.since * 1_000n <= BigInt(Date.now())
    return isPending && sharesSeconds ? { kind: 'tag', tag: 'latest' } : block
  }

  /** From the block's own deposit, because an older block's state may be gone; undefined for tags and positions. */
  private daFootprintScalar(
    block: StateParameter,
    base: BlockHeader,
    rules: ChainRules,
    time: TimeLimits,
  ): Awaitable<bigint | undefined> {
    if (
      block.kind === 'tag' ||
      block.kind === 'position' ||
      !isOpForkActive(rulesAt(rules, base.number, base.timestamp), 'jovian')
    )
      return undefined
    return daFootprintScalar(this.client, base, time)
  }
}

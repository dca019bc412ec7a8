import { Injectable } from '@nestjs/common'
import { type Awaitable, andThen } from '@upfront/node'
import {
  type CallRequest,
  decodeCallRequest,
  decodeInspection,
  decodeTraceCallRequest,
  ErrorCode,
  type Inspection,
  type JsonText,
  RpcError,
  toQuantity,
} from '@upfront/protocol'
import {
  type Answer,
  AnswerTooLong,
  type CallRecord,
  createAccessList,
  Driver,
  gasOf,
  type InspectedAnswer,
  inspect,
  isRecorded,
  planTracedCall,
  presentRejection,
  presentTrace,
  ReadBudget,
  type Recording,
  recordingFor,
  recordingOf,
  type Simulation,
  SimulationRejected,
  structLogJson,
  TokenLayouts,
  type Wording,
} from '@upfront/simulation'
import { ServedChain } from '../chain/served-chain.js'
import { SimulationBases } from '../pending/simulation-base.js'
import { growing, simulateGrowing } from './growing-answer.js'
import { type RequestLimits, readUntil, type SimulationContext, Simulator, spending } from './simulator.js'

/** Of an answer that shows more than outcomes: it is put together on the event loop, where others wait. */
const MOST_BYTES = 4 * 1024 * 1024
/** Of what is recorded for an access list: some 50,000 slots. */
const MOST_LIST_BYTES = 16 * 1024 * 1024
/** Of struct logs, which engines write as JSON. */
const MOST_STEP_BYTES = 16 * 1024 * 1024

/** As geth words them. */
const TRACING: Wording = (words) => `tracing failed: ${words}`
const LISTING: Wording = (words) => `failed to apply transaction: err: ${words}`

/** What calls do beside their outcome. */
@Injectable()
export class Inspector {
  private readonly layouts = new TokenLayouts()

  constructor(
    private readonly simulator: Simulator,
    private readonly bases: SimulationBases,
    private readonly served: ServedChain,
    private readonly driver: Driver,
  ) {}

  /**
   * `debug_traceCall`: a call in the block that the request names, on the state after it.
   * @param params as they came
   * @throws or rejects with RpcError, or the signal's reason
   */
  async traceCall(params: unknown, context: SimulationContext): Promise<JsonText> {
    const request = decodeTraceCallRequest(params)
    const { tracer } = request
    if (tracer.name === 'structLogger') {
      const wide = narrowed(context.limits, MOST_STEP_BYTES)
      const { records } = await this.run(request, recordingFor(tracer), wide, context, TRACING)
      return structLogJson(only(records), tracer.config)
    }
    const narrow = narrowed(context.limits)
    const { records } = await this.run(request, recordingFor(tracer), narrow, context, TRACING)
    return bounded(JSON.stringify(presentTrace(only(records), tracer)), narrow)
  }

  /**
   * `eth_createAccessList`: `[call, block, stateOverrides]`.
   * @throws or rejects with RpcError, or the signal's reason
   */
  async createAccessList(params: unknown, context: SimulationContext): Promise<JsonText> {
    const request = decodeCallRequest(params)
    const limits = narrowed(context.limits, MOST_LIST_BYTES)
    const run = (changed: CallRequest) => this.run(changed, { frames: false, state: true }, limits, context, LISTING)
    const { accessList, gasUsed, error } = await createAccessList(request, run)
    return JSON.stringify({ accessList, ...(error !== undefined && { error }), gasUsed: toQuantity(gasUsed) })
  }

  /**
   * `upfront_simulate`: `eth_simulateV1`, and of each call what the request asks for beside it.
   * @param params as they came
   * @throws or rejects with what `Simulator.simulate` does
   */
  simulate(params: unknown, context: SimulationContext): Awaitable<JsonText> {
    return andThen(
      this.simulateWith(params, context, (answer) => answer),
      ({ json }) => json,
    )
  }

  /**
   * `simulate`, then `work` with the answer on what was simulated on.
   * @throws or rejects with what `simulate` and `work` do
   */
  simulateWith<T>(
    params: unknown,
    context: SimulationContext,
    work: (answer: InspectedAnswer, simulation: Simulation, inspection: Inspection) => Awaitable<T>,
  ): Awaitable<T> {
    const { inspection, params: simulated } = decodeInspection(params)
    const { limits } = context
    const narrow = isRecorded(recordingOf(inspection)) ? narrowed(limits) : limits
    const run = (simulation: Simulation) =>
      andThen(simulateGrowing({ ...simulation, limits: narrow }, context), (answer) => {
        context.spend?.({ gasUsed: gasOf(answer) })
        return answer
      })
    return this.simulator.simulateBy(simulated, narrow, context, async (simulation) => {
      // What is sold has to take the same for whoever executes it again, so it is not found by what was found before.
      const layouts = context.isSold ? undefined : this.layouts
      const answer = await inspect(simulation, inspection, run, layouts)
      bounded(answer.json, narrow)
      return { answer, made: await work(answer, simulation, inspection) }
    })
  }

  /** Runs one call in the block that the request names. */
  private async run(
    request: CallRequest,
    recording: Recording,
    limits: RequestLimits,
    context: SimulationContext,
    wording: Wording,
  ): Promise<Answer> {
    const rules = await this.served.rules(context)
    if (rules.isUncertain) context.view.rulesAreUncertain = true
    const deadline = readUntil(context.deadline)
    const time = { signal: context.signal, deadline }
    try {
      const answer = await spending(limits, context, () =>
        this.bases.on(request.block, context.view, time, ({ base, opening, state, cancellation }) => {
          const budget = new ReadBudget(limits.upstreamReads, deadline)
          return growing(limits, context, (answerBytes) => {
            const plan = planTracedCall(request, { base, opening }, rules, { ...limits, answerBytes }, recording)
            return this.driver.simulate(plan, state, { budget, cancellation })
          })
        }),
      )
      context.spend?.(answer)
      return answer
    } catch (error) {
      if (!(error instanceof SimulationRejected)) throw error
      throw new RpcError(ErrorCode.serverError, presentRejection(error.rejection, wording).message)
    }
  }
}

function only(records: readonly CallRecord[]): CallRecord {
  const [record] = records
  if (record === undefined) throw new Error('the call was not recorded')
  return record
}

function narrowed(limits: RequestLimits, most = MOST_BYTES): RequestLimits {
  return { ...limits, answerBytes: Math.min(limits.answerBytes, most) }
}

/** What the engine wrote down is bounded; as JSON it may be longer. */
function bounded<T extends JsonText>(json: T, { answerBytes }: RequestLimits): T {
  if (json.length > answerBytes) throw new AnswerTooLong(answerBytes)
  return json
}

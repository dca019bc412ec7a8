import {
  type CallRequest,
  decodeCallRequest,
  decodeTraceCallRequest,
  ErrorCode,
  RpcError,
  toQuantity,
} from '@upfront/protocol'
import {
  type Answer,
  type CallRecord,
  createAccessList,
  type Driver,
  planTracedCall,
  presentRejection,
  presentTrace,
  type Recording,
  recordingFor,
  SimulationRejected,
  structLogJson,
  type Wording,
} from '@upfront/simulation'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { growing } from '../simulate/growing-answer.js'
import { bounded, narrowed, type RequestLimits } from '../simulate/simulation-context.js'
import type { Simulator } from '../simulate/simulator.js'

/** Of a trace that is put together on the event loop, where others wait. */
const MOST_TRACE_BYTES = 4 * 1024 * 1024
/** Of what is recorded for an access list: some 50,000 slots. */
const MOST_LIST_BYTES = 16 * 1024 * 1024
/** Of struct logs, which engines write as JSON. */
const MOST_STEP_BYTES = 16 * 1024 * 1024

/** As geth words them. */
const TRACING: Wording = (words) => `tracing failed: ${words}`
const LISTING: Wording = (words) => `failed to apply transaction: err: ${words}`

type Run = (request: CallRequest) => Promise<Answer>

/** Methods that run one call in the block that the request names, on the state after it, and tell how it ran. */
export function traceMethods(simulator: Simulator, driver: Driver): [string, RpcMethod][] {
  /** Has `work` run the call as often as it needs. */
  const running = async <T>(
    { block }: CallRequest,
    context: RpcContext,
    { recording, limits, wording }: { recording: Recording; limits: RequestLimits; wording: Wording },
    work: (run: Run) => Promise<T>,
  ): Promise<T> => {
    try {
      return await simulator.execute(block, limits, context, ({ rules, state, taken, ...on }) =>
        work(async (request) =>
          growing(limits, context, async (answerBytes) => {
            const plan = planTracedCall(request, on, rules, { ...limits, answerBytes }, recording)
            const answer = await driver.simulate(plan, state, on)
            taken.gasUsed += answer.gasUsed
            return answer
          }),
        ),
      )
    } catch (error) {
      if (!(error instanceof SimulationRejected)) throw error
      throw new RpcError(ErrorCode.serverError, presentRejection(error.rejection, wording).message)
    }
  }
  return [
    [
      'debug_traceCall',
      async (params, context) => {
        const request = decodeTraceCallRequest(params)
        const { tracer } = request
        const isStruct = tracer.name === 'structLogger'
        const limits = narrowed(context.limits, isStruct ? MOST_STEP_BYTES : MOST_TRACE_BYTES)
        const how = { recording: recordingFor(tracer), limits, wording: TRACING }
        const { records } = await running(request, context, how, (run) => run(request))
        return isStruct
          ? structLogJson(only(records), tracer.config)
          : bounded(JSON.stringify(presentTrace(only(records), tracer)), limits)
      },
    ],
    [
      'eth_createAccessList',
      async (params, context) => {
        const request = decodeCallRequest(params)
        const recording: Recording = { frames: false, state: true }
        const how = { recording, limits: narrowed(context.limits, MOST_LIST_BYTES), wording: LISTING }
        const { accessList, gasUsed, error } = await running(request, context, how, (run) =>
          createAccessList(request, run),
        )
        return JSON.stringify({ accessList, ...(error !== undefined && { error }), gasUsed: toQuantity(gasUsed) })
      },
    ],
  ]
}

function only(records: readonly CallRecord[]): CallRecord {
  const [record] = records
  if (record === undefined) throw new Error('the call was not recorded')
  return record
}

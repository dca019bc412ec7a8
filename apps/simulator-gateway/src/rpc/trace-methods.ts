import type { Cancellation } from '@upfront/node'
import {
  type CallRequest,
  decodeCallRequest,
  decodeTraceCallRequest,
  ErrorCode,
  RpcError,
  type Tracing,
  toQuantity,
} from '@upfront/protocol'
import {
  type Answer,
  blobFeeIn,
  type ChainRules,
  createAccessList,
  planTracedCall,
  presentRejection,
  type Recording,
  recordingFor,
  SimulationRejected,
  type TracedBlock,
  type Wording,
} from '@upfront/simulation'
import { tracedBlock } from '../pending/simulation-base.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { runInRecordTurn, runWithGrowingLimit } from '../simulate/run-limits.js'
import { narrowed, type RequestLimits } from '../simulate/simulation-context.js'
import { suggestedTip } from './fee-methods.js'
import type { Reading } from './reading.js'
import { inTracersWords, TRACING, traceJson, traceLimits, withinTimeout } from './trace-answer.js'

/** Limit of the records for an access list, in bytes: enough for some 50,000 slots. */
const MAX_LIST_BYTES = 16 * 1024 * 1024

/** geth's wording. */
const LISTING: Wording = (words) => `failed to apply transaction: err: ${words}`

type TracedOn = TracedBlock & { rules: ChainRules }
type Run = (request: CallRequest) => Promise<Answer>

/** How a call is run. */
interface Ways {
  recording: Recording
  limits: RequestLimits
  wording: Wording
  /** Set if it is traced. */
  tracing?: Tracing
}

/** Methods that run one call in the context of the named block, on the state after it, and report its execution. */
export function traceMethods(reading: Reading): [string, RpcMethod][] {
  const { simulator } = reading
  /** Lets `work` run the call as often as it needs. */
  const running = async <T>(
    { block }: CallRequest,
    context: RpcContext,
    { recording, limits, wording, tracing }: Ways,
    work: (run: Run, earlierLogs: number | undefined, on: TracedOn) => Promise<T>,
  ): Promise<T> => {
    try {
      return await simulator.execute(block, limits, context, ({ rules, state, taken, ...on }) =>
        runInRecordTurn(context, (turn) => {
          const simulated = async (request: CallRequest, answerBytes: number) => {
            await turn.take(answerBytes)
            const plan = planTracedCall(request, tracedBlock(on), rules, { ...limits, answerBytes }, recording)
            const simulate = (cancellation: Cancellation) =>
              simulator.countingDriver(taken).simulate(plan, state, { ...on, cancellation })
            return tracing === undefined ? simulate(on.cancellation) : withinTimeout(tracing, on.cancellation, simulate)
          }
          // The next run starts with the length that the last one reached.
          const run = async (request: CallRequest) =>
            runWithGrowingLimit(limits, context, (answerBytes) => simulated(request, answerBytes), turn.answerBytes)
          return work(run, on.earlierLogs, { ...tracedBlock(on), rules })
        }),
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
        const { tracing } = request
        const { tracer } = tracing
        const limits = traceLimits(tracer, context.limits)
        const how = { recording: recordingFor(tracer), limits, wording: TRACING, tracing }
        const traced = running(request, context, how, async (run, earlierLogs) =>
          traceJson(await run(request), tracer, limits, earlierLogs),
        )
        return traced.catch((error) => {
          throw inTracersWords(error)
        })
      },
    ],
    [
      'eth_createAccessList',
      async (params, context) => {
        const request = decodeCallRequest(params)
        const recording: Recording = { frames: false, state: true }
        const how = { recording, limits: narrowed(context.limits, MAX_LIST_BYTES), wording: LISTING }
        const { accessList, gasUsed, error } = await running(
          request,
          context,
          how,
          (run, _, { base, opening, rules }) =>
            createAccessList(request, run, {
              baseFee: opening?.baseFeePerGas ?? base.baseFeePerGas,
              blobBaseFee: blobFeeIn(base, rules),
              suggestTip: () => suggestedTip(reading, context),
            }),
        )
        return JSON.stringify({ accessList, ...(error !== undefined && { error }), gasUsed: toQuantity(gasUsed) })
      },
    ],
  ]
}

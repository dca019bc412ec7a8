import {
  type CallRequest,
  DEFAULT_SIMULATION_LIMITS,
  decodeCallRequest,
  decodeTraceCallRequest,
  joinJson,
  RpcError,
  toQuantity,
} from '@upfront/protocol'
import {
  type Answer,
  type CallRecord,
  createAccessList,
  type Engine,
  planTracedCall,
  presentRejection,
  presentTrace,
  type Recording,
  recordingFor,
  SimulationRejected,
  structLogJson,
} from '@upfront/simulation'
import type { BaseState, RpcAnswer } from './answer.js'
import { drive } from './drive.js'

/**
 * Runs `debug_traceCall` on an engine, on the block of `baseState`, once per config. The call itself
 * runs once, plus once for each further set of struct logger options.
 * @param configs identical except for tracer and options
 */
export async function tracesOf(
  engine: Engine,
  call: unknown,
  configs: readonly object[],
  baseState: BaseState,
): Promise<RpcAnswer[]> {
  const records = new Map<string, Promise<CallRecord>>()
  const answers: RpcAnswer[] = []
  for (const config of configs) {
    answers.push(
      await answering(async () => {
        const request = decodeTraceCallRequest(JSON.parse(JSON.stringify([call, 'latest', config])))
        const { tracer } = request.tracing
        const { steps } = recordingFor(tracer)
        const key = JSON.stringify(steps ?? [...records.keys()][0])
        const recording = { frames: true, state: true, steps, uses: true }
        const record =
          records.get(key) ?? run(engine, request, recording, baseState).then(({ records: [made] }) => made!)
        records.set(key, record)
        if (tracer.name !== 'structLogger') return presentTrace(await record, tracer)
        return JSON.parse(joinJson(structLogJson(await record)).toString())
      }),
    )
  }
  return answers
}

/** Runs `eth_createAccessList` on an engine, on the block of `baseState`. */
export function createdAccessListOf(engine: Engine, params: unknown, baseState: BaseState): Promise<RpcAnswer> {
  return answering(async () => {
    const request = decodeCallRequest(JSON.parse(JSON.stringify(params)))
    const recording = { frames: false, state: true }
    const made = await createAccessList(request, (changed) => run(engine, changed, recording, baseState), {
      suggestTip: async () => undefined,
    })
    return { ...made, gasUsed: toQuantity(made.gasUsed) }
  })
}

function run(engine: Engine, request: CallRequest, recording: Recording, baseState: BaseState): Promise<Answer> {
  const { rules, base, state } = baseState
  const plan = planTracedCall(request, { base }, rules, DEFAULT_SIMULATION_LIMITS, recording)
  const cancellation = { signal: AbortSignal.timeout(60_000) }
  return drive(engine.begin(plan, { key: base.hash, layers: [] }, cancellation), state)
}

async function answering(answer: () => Promise<unknown>): Promise<RpcAnswer> {
  try {
    return { result: JSON.parse(JSON.stringify(await answer())) }
  } catch (error) {
    const refused = error instanceof SimulationRejected ? presentRejection(error.rejection) : error
    if (!(refused instanceof RpcError || error instanceof SimulationRejected)) throw error
    const { code, message } = refused as { code: number; message: string }
    return { error: { code, message } }
  }
}

import {
  type BlockHeader,
  type BlockParameter,
  DEFAULT_SIMULATION_LIMITS,
  decodeSimulationRequest,
  RpcError,
} from '@upfront/protocol'
import {
  answerBlocks,
  type ChainRules,
  type Engine,
  planSimulation,
  presentRejection,
  SimulationRejected,
  type Touched,
  type TouchedList,
} from '@upfront/simulation'
import { drive, type ValueSource } from './drive.js'

/** An answer to `eth_simulateV1`, as geth encodes it. */
export interface RpcAnswer {
  result?: unknown
  error?: { code: number; message: string }
}

export interface EngineAnswer extends RpcAnswer {
  /** The counts used for metering. */
  touched?: Touched
  /** The items that `touched` counts. */
  touchedList?: TouchedList | undefined
}

/** The base that requests are simulated on. */
export interface BaseState {
  rules: ChainRules
  base: BlockHeader
  state: ValueSource
  /** See `SimulationPlan`. */
  daFootprintScalar?: bigint | undefined
}

/** Runs the params of `eth_simulateV1` on an engine. Errors omit the place in the request, which geth does not report. */
export async function answerOf(
  engine: Engine,
  params: unknown,
  baseStateAt: (block: BlockParameter) => BaseState,
): Promise<EngineAnswer> {
  const cancellation = { signal: AbortSignal.timeout(60_000) }
  try {
    const sent = JSON.parse(JSON.stringify(params))
    const request = decodeSimulationRequest(sent, DEFAULT_SIMULATION_LIMITS)
    const { block } = request
    if (block.kind === 'position') throw new Error('expected a whole block')
    const { rules, base, state, daFootprintScalar } = baseStateAt(block)
    const plan = planSimulation(request, base, rules, DEFAULT_SIMULATION_LIMITS)
    plan.listTouched = true
    if (daFootprintScalar !== undefined) plan.daFootprintScalar = daFootprintScalar
    const { touched, touchedList, ...answer } = await drive(
      engine.begin(plan, { key: base.hash, layers: [] }, cancellation),
      state,
    )
    return { result: answerBlocks(answer, 'ethereum'), touched, touchedList }
  } catch (error) {
    const refused = error instanceof SimulationRejected ? presentRejection(error.rejection) : error
    if (!(refused instanceof RpcError || error instanceof SimulationRejected)) throw error
    const { code, message } = refused as { code: number; message: string }
    return { error: { code, message: message.replace(/^blockStateCalls[^ ]*: /, '') } }
  }
}

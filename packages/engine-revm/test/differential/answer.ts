import {
  type BlockHeader,
  blockHeaderFromRpc,
  DEFAULT_SIMULATION_LIMITS,
  decodeSimulationRequest,
  RpcError,
} from '@upfront/protocol'
import {
  type ChainRules,
  type Engine,
  type Simulation,
  type SimulationOutcome,
  type StateSource,
  simulate,
  simulateToJson,
} from '@upfront/simulation'

export interface Answer {
  result?: unknown
  error?: { code: number; message: string }
  /** What metering counts; geth has no such thing. */
  touched?: SimulationOutcome['touched']
}

/** The chain that requests are simulated on: one block, and its state. */
export interface Ground {
  rules: ChainRules
  base: BlockHeader
  state: StateSource
}

/** The genesis block of a chain that nobody runs, where geth is not there to say what it is. */
export function groundOf(
  { rules, stateAt }: { rules: ChainRules; stateAt(header: BlockHeader): StateSource },
  genesisBlock: unknown,
): Ground {
  const base = blockHeaderFromRpc(genesisBlock)
  return { rules, base, state: stateAt(base) }
}

/** What an engine makes of a payload of `eth_simulateV1`; without the place that our messages begin with. */
export async function answerOf(engine: Engine, payload: unknown, { rules, base, state }: Ground): Promise<Answer> {
  const simulation = (): Simulation => ({
    request: decodeSimulationRequest([payload, 'latest'], DEFAULT_SIMULATION_LIMITS),
    base,
    openState: () => state,
    rules,
    engine,
    limits: DEFAULT_SIMULATION_LIMITS,
    cancellation: { signal: AbortSignal.timeout(60_000) },
    dialect: 'ethereum',
  })
  try {
    const { blocks, touched } = await simulate(simulation())
    const presented = JSON.stringify(blocks)
    const { json } = await simulateToJson(simulation())
    if (json.toString() !== presented) throw new Error(`${engine.name} writes ${json} where it presents ${presented}`)
    return { result: JSON.parse(presented), touched }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return { error: { code: error.code, message: error.message.replace(/^blockStateCalls[^ ]*: /, '') } }
  }
}

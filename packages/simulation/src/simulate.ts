import {
  type BlockHeader,
  type Dialect,
  RpcError,
  type SimulatedBlock,
  type SimulationLimits,
  type SimulationRequest,
} from '@upfront/protocol'
import { type Engine, type SimulationOutcome, SimulationRejected } from './engine/engine.js'
import type { StateSource } from './engine/state-source.js'
import type { ChainRules } from './plan/chain-rules.js'
import { type OpeningBlock, planSimulation } from './plan/plan-simulation.js'
import type { SimulationPlan } from './plan/simulation-plan.js'
import { presentBlocks } from './present/present-blocks.js'

export interface Simulation {
  request: SimulationRequest
  /** The block that the request's block parameter stands for. */
  base: BlockHeader
  /** The block after `base`, where it is under construction. */
  opening?: OpeningBlock
  /** State after `base`, opened for the plan: what that will touch can be read ahead. */
  openState: (plan: SimulationPlan) => StateSource
  rules: ChainRules
  engine: Engine
  limits: SimulationLimits
  /** See `SimulationPlan`. */
  daFootprintScalar?: bigint
  /** Its reason is thrown as it is. */
  signal: AbortSignal
  dialect: Dialect
}

export interface SimulationAnswer {
  /** The `result` of `eth_simulateV1`. */
  blocks: SimulatedBlock[]
  /** Of all calls together, after refunds. */
  gasUsed: bigint
  touched: SimulationOutcome['touched']
}

/**
 * Plans, executes and presents one decoded request.
 * @throws RpcError for what the request or a call of it can't do, with its place in the request; whatever `state.read`
 * rejected with; the signal's reason
 */
export async function simulate(simulation: Simulation): Promise<SimulationAnswer> {
  const { request, base, opening, openState, rules, engine, limits, daFootprintScalar, signal, dialect } = simulation
  const plan = planSimulation(request, base, rules, limits, opening)
  if (daFootprintScalar !== undefined) plan.daFootprintScalar = daFootprintScalar
  const { blocks, touched } = await execute(engine, plan, openState(plan), signal)
  return {
    blocks: presentBlocks(blocks, plan, { dialect, returnFullTransactions: request.returnFullTransactions }),
    gasUsed: blocks.reduce((sum, { header }) => sum + header.gasUsed, 0n),
    touched,
  }
}

async function execute(
  engine: Engine,
  plan: SimulationPlan,
  state: StateSource,
  signal: AbortSignal,
): Promise<SimulationOutcome> {
  try {
    return await engine.simulate(plan, state, signal)
  } catch (error) {
    if (error instanceof SimulationRejected) throw new RpcError(error.code, `${placeOf(error, plan)}: ${error.message}`)
    throw error
  }
}

/** `blockStateCalls[1].calls[0]`; the block alone where its overrides are at fault. */
function placeOf(rejected: SimulationRejected, plan: SimulationPlan): string {
  const index = plan.blocks[rejected.block]?.requestIndex
  if (index === undefined) return 'blockStateCalls'
  const block = `blockStateCalls[${index}]`
  return rejected.call === undefined ? block : `${block}.calls[${rejected.call}]`
}

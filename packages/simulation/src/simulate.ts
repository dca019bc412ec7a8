import type { OpeningBlock } from '@upfront/head'
import type { Cancellation } from '@upfront/node'
import { type Awaitable, andThen, recovered } from '@upfront/node'
import {
  type BlockHeader,
  type Dialect,
  type JsonText,
  joinJson,
  RpcError,
  type SimulatedBlock,
  type SimulationLimits,
  type SimulationRequest,
} from '@upfront/protocol'
import { type Engine, type FailedCall, type SimulationOutcome, SimulationRejected } from './engine/engine.js'
import type { StateSource } from './engine/state-source.js'
import type { ChainRules } from './plan/chain-rules.js'
import { planSimulation } from './plan/plan-simulation.js'
import type { SimulationPlan } from './plan/simulation-plan.js'
import { presentBlocks } from './present/present-blocks.js'
import { presentFailure } from './present/present-failure.js'

export interface Simulation {
  request: SimulationRequest
  /** The block that the request's block parameter stands for. */
  base: BlockHeader
  /** The block after `base`, where it is under construction. */
  opening?: OpeningBlock | undefined
  /** State after `base`, opened for the plan: what that will touch can be read ahead. */
  openState: (plan: SimulationPlan) => StateSource
  rules: ChainRules
  engine: Engine
  limits: SimulationLimits
  /** See `SimulationPlan`. */
  daFootprintScalar?: bigint | undefined
  /** Its signal's reason is thrown as it is. */
  cancellation: Cancellation
  dialect: Dialect
}

export interface SimulationAnswer {
  /** The `result` of `eth_simulateV1`. */
  blocks: SimulatedBlock[]
  /** Of all calls together, after refunds. */
  gasUsed: bigint
  touched: SimulationOutcome['touched']
}

/** `SimulationAnswer` as JSON text. */
export interface SimulationText {
  /** The `result` of `eth_simulateV1`. */
  json: JsonText
  /** How many blocks it has. */
  blocks: number
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
  const { engine, cancellation, dialect, request } = simulation
  const plan = planOf(simulation)
  const outcome = engine.simulate(plan, simulation.openState(plan), cancellation.signal)
  const { blocks, touched } = await outcome.catch((error) => refuse(error, plan))
  return {
    blocks: presentBlocks(blocks, plan, { dialect, returnFullTransactions: request.returnFullTransactions }),
    gasUsed: blocks.reduce((sum, { header }) => sum + header.gasUsed, 0n),
    touched,
  }
}

/**
 * `simulate` as text: written by the engine where it can, which costs a fraction.
 * @throws or rejects with what `simulate` does
 */
export function simulateToJson(simulation: Simulation): Awaitable<SimulationText> {
  const { engine, cancellation, dialect, request } = simulation
  const { write } = engine
  if (write === undefined || request.returnFullTransactions) {
    return simulate(simulation).then(({ blocks, gasUsed, touched }) => {
      return { json: JSON.stringify(blocks), blocks: blocks.length, gasUsed, touched }
    })
  }
  const plan = planOf(simulation)
  const outcome = recovered(
    () => write.call(engine, plan, simulation.openState(plan), cancellation),
    (error) => refuse(error, plan),
  )
  return andThen(outcome, ({ pieces, failures, gasUsed, touched }) => {
    return { json: joinPieces(pieces, failures, dialect), blocks: plan.blocks.length, gasUsed, touched }
  })
}

function planOf({ request, base, rules, limits, opening, daFootprintScalar }: Simulation): SimulationPlan {
  const plan = planSimulation(request, base, rules, limits, opening)
  if (daFootprintScalar !== undefined) plan.daFootprintScalar = daFootprintScalar
  return plan
}

function joinPieces(pieces: JsonText[], failures: FailedCall[], dialect: Dialect): JsonText {
  const [only] = pieces
  if (only !== undefined && failures.length === 0) return only
  const errorOf = (failure: FailedCall) => `,"error":${JSON.stringify(presentFailure(failure, dialect))}`
  return joinJson(pieces.flatMap((piece, index) => (index === 0 ? [piece] : [errorOf(failures[index - 1]!), piece])))
}

function refuse(error: unknown, plan: SimulationPlan): never {
  if (error instanceof SimulationRejected) throw new RpcError(error.code, `${placeOf(error, plan)}: ${error.message}`)
  throw error
}

/** `blockStateCalls[1].calls[0]`; the block alone where its overrides are at fault. */
function placeOf(rejected: SimulationRejected, plan: SimulationPlan): string {
  const index = plan.blocks[rejected.block]?.requestIndex
  if (index === undefined) return 'blockStateCalls'
  const block = `blockStateCalls[${index}]`
  return rejected.call === undefined ? block : `${block}.calls[${rejected.call}]`
}

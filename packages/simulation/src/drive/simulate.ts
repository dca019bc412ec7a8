import { type Awaitable, andThen, recovered, traced } from '@upfront/node'
import {
  type BlockHeader,
  type Call,
  type Dialect,
  type JsonText,
  joinJson,
  RpcError,
  type SimulationLimits,
  type SimulationRequest,
} from '@upfront/protocol'
import type { OpeningBlock } from '../block/pinned-block.js'
import type { CallRecord, DecidingFact } from '../engine/call-record.js'
import type { Touched, TouchedList } from '../engine/engine.js'
import { SimulationRejected } from '../engine/simulation-rejected.js'
import type { ChainRules } from '../plan/chain-rules.js'
import { planSimulation } from '../plan/plan-simulation.js'
import type { Probe, Recording } from '../plan/recording.js'
import type { PlannedBlock, SimulationPlan } from '../plan/simulation-plan.js'
import { answerParts } from '../present/answer-json.js'
import { presentRejection } from '../present/present-rejection.js'
import type { DriveLimits, Driver } from './driver.js'
import type { PinnedState } from './pinned-state.js'

export interface Simulation extends DriveLimits {
  request: SimulationRequest
  /** The block that the request's block parameter stands for. */
  base: BlockHeader
  /** The block after `base`, where it is under construction. */
  opening?: OpeningBlock | undefined
  /** State after `base`. */
  state: PinnedState
  rules: ChainRules
  driver: Pick<Driver, 'simulate'>
  limits: SimulationLimits
  /** See `SimulationPlan`. */
  daFootprintScalar?: bigint | undefined
  dialect: Dialect
  /** The answer lists what was touched. */
  listTouched?: boolean
  /** See `SimulationPlan`. */
  isTrial?: boolean
  /** What engines write down of each call; nothing where absent. */
  recording?: Recording | undefined
  /** See `SimulationPlan`. */
  probes?: Probe[] | undefined
  /** Where it would stand at an earlier place; undefined where that is not held, or no other place. */
  inLastBlocks?: (place: Place) => Awaitable<Pick<Simulation, 'base' | 'opening' | 'state'> | undefined>
  /** Transactions that are seen waiting and change any of these facts. */
  seenWaiting?: (facts: readonly DecidingFact[]) => Call[]
  /** The answer can do without it: limits that it meets end nothing else. */
  isSpare?: boolean
}

/** A place in the block that a simulation stands on, or so many blocks before that: before its transactions, or in their middle. */
export interface Place {
  back: number
  isMiddle: boolean
}

export interface SimulationAnswer {
  /** The `result` of `eth_simulateV1`; of a trial no more than its `calls`, and of these what came of them. */
  json: JsonText
  /** The same, cut where each recorded call ends. */
  parts: readonly JsonText[]
  /** Its blocks, those in gaps too. */
  blocks: readonly Pick<PlannedBlock, 'number' | 'timestamp' | 'calls'>[]
  /** Of all calls together, after refunds. */
  gasUsed: bigint
  touched: Touched
  /** Where the simulation asks for it. */
  touchedList?: TouchedList | undefined
  /** See `Answer`. Of an inspection that takes several runs: of the one that it shows. */
  readList?: TouchedList | undefined
  /** Of an inspection: what the runs after the first took, and the questions to contracts. */
  furtherGas?: bigint
  /** Values of state that had to be read from the node first. */
  reads: number
  /** Of all calls, in order, where they were asked for. */
  records: CallRecord[]
  /** Of an inspection: what contracts were asked about assets. */
  probes?: Probe[]
}

/** Carries out one run of a simulation. */
export type Run = (simulation: Simulation) => Awaitable<SimulationAnswer>

/** All that one run took: its calls' gas, and that of its questions to contracts. */
export function gasOf({ gasUsed, records }: Pick<SimulationAnswer, 'gasUsed' | 'records'>): bigint {
  return records.reduce((sum, { probeGas }) => sum + probeGas, gasUsed)
}

/** The cause of an error that was met after other calls of the request had run. */
export class CallsRan extends Error {
  override readonly name = 'CallsRan'
}

/**
 * Plans, executes and presents one decoded request; at once where all it needs is there.
 * @throws or rejects with RpcError for what the request or a call of it can't do, with its place in the request; with what
 * `Driver.simulate` does
 */
export function simulate(simulation: Simulation): Awaitable<SimulationAnswer> {
  const { driver, state, dialect, budget } = simulation
  const plan = traced('plan', () => planOf(simulation))
  const answer = recovered(
    () => driver.simulate(plan, state, simulation),
    (error) => refuse(error, plan),
  )
  return andThen(answer, ({ pieces, failures, gasUsed, touched, touchedList, readList, records }) => {
    if (plan.fault !== undefined) throw Object.assign(plan.fault.error, { cause: new CallsRan() })
    const parts = answerParts({ pieces, failures }, dialect)
    const json = parts.length === 1 ? parts[0]! : joinJson(parts)
    const { blocks } = plan
    return { json, parts, blocks, gasUsed, touched, touchedList, readList, records, reads: budget.used }
  })
}

function planOf({
  request,
  base,
  rules,
  limits,
  opening,
  daFootprintScalar,
  recording,
  probes,
  listTouched,
  isTrial,
}: Simulation): SimulationPlan {
  const plan = planSimulation(request, base, rules, limits, opening, recording)
  if (daFootprintScalar !== undefined) plan.daFootprintScalar = daFootprintScalar
  if (probes !== undefined) plan.probes = probes
  if (listTouched) plan.listTouched = true
  if (isTrial) plan.isTrial = true
  return plan
}

function refuse(error: unknown, plan: SimulationPlan): never {
  if (!(error instanceof SimulationRejected)) throw error
  const isFaultFirst = plan.fault?.isOfLastCall && !isBefore(error, plan)
  const { code, message } = presentRejection(error.rejection)
  const refusal = isFaultFirst ? plan.fault!.error : new RpcError(code, `${placeOf(error, plan)}: ${message}`)
  throw error.isAfterWork ? Object.assign(refusal, { cause: new CallsRan() }) : refusal
}

/** Whether geth meets this rejection before the fault at which the plan ends. */
function isBefore({ block, call, rejection }: SimulationRejected, { blocks }: SimulationPlan): boolean {
  if (block < blocks.length - 1 || rejection.kind === 'blockGasLimit') return true
  if (call === undefined) return rejection.kind !== 'depositLength' && rejection.kind !== 'requestQueue'
  return call < (blocks[block]?.calls.length ?? 0) - 1
}

/** `blockStateCalls[1].calls[0]`; the block alone where its overrides are at fault. */
function placeOf(rejected: SimulationRejected, plan: SimulationPlan): string {
  const index = plan.blocks[rejected.block]?.requestIndex
  if (index === undefined) return 'blockStateCalls'
  const block = `blockStateCalls[${index}]`
  return rejected.call === undefined ? block : `${block}.calls[${rejected.call}]`
}

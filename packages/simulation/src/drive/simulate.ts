import { type Awaitable, andThen, catchError, traced } from '@upfront/node'
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
  /** The block that the request's block parameter refers to. */
  base: BlockHeader
  /** The block after `base`, if it is under construction. */
  opening?: OpeningBlock | undefined
  /** State after `base`. */
  state: PinnedState
  rules: ChainRules
  driver: Pick<Driver, 'simulate'>
  limits: SimulationLimits
  /** See `SimulationPlan`. */
  daFootprintScalar?: bigint | undefined
  dialect: Dialect
  /** Whether the answer lists what was touched. */
  listTouched?: boolean
  /** See `SimulationPlan`. */
  isTrial?: boolean
  /** What engines record of each call; nothing if absent. */
  recording?: Recording | undefined
  /** See `SimulationPlan`. */
  probes?: Probe[] | undefined
  /** The state at an earlier position; undefined if it is not held or does not exist. */
  findRecentBase?: (position: RecentPosition) => Awaitable<Pick<Simulation, 'base' | 'opening' | 'state'> | undefined>
  /** Waiting transactions seen by the gateway that change any of these facts. */
  seenWaiting?: (facts: readonly DecidingFact[]) => Call[]
  /** An optional run: a limit that it exceeds ends only this run. */
  isSpare?: boolean
}

/** A position in the block that a simulation stands on, or `back` blocks before: before its transactions, or in the middle. */
export interface RecentPosition {
  back: number
  isMiddle: boolean
}

export interface SimulationAnswer {
  /** The `result` of `eth_simulateV1`; for a trial only `calls`, with their outcomes. */
  json: JsonText
  /** The same text, split before each recorded call's closing brace. */
  parts: readonly JsonText[]
  /** The executed blocks, including those that fill gaps. */
  blocks: readonly Pick<PlannedBlock, 'number' | 'timestamp' | 'calls'>[]
  /** Of all calls, after refunds. */
  gasUsed: bigint
  touched: Touched
  /** If the simulation asks for it. */
  touchedList?: TouchedList | undefined
  /** See `Answer`. For an inspection with several runs: of the run that it shows. */
  readList?: TouchedList | undefined
  /** For an inspection: gas of the runs after the first, and of questions to contracts. */
  furtherGas?: bigint
  /** Values of state read from the node. */
  reads: number
  /** Of all calls, in order, if asked for. */
  records: CallRecord[]
  /** For an inspection: the questions asked of contracts about assets. */
  probes?: Probe[]
}

/** Executes one run of a simulation. */
export type Run = (simulation: Simulation) => Awaitable<SimulationAnswer>

/** All gas of a run: its calls' and its questions'. */
export function gasOf({ gasUsed, records }: Pick<SimulationAnswer, 'gasUsed' | 'records'>): bigint {
  return records.reduce((sum, { probeGas }) => sum + probeGas, gasUsed)
}

/** Cause of an error that occurred after other calls of the request had run. */
export class CallsRan extends Error {
  override readonly name = 'CallsRan'
}

/**
 * Plans, executes and presents one decoded request; synchronously if the engine returns its answer at once.
 * @throws or rejects with RpcError, naming the place, if the request or a call is invalid; with what `Driver.simulate` does
 */
export function simulate(simulation: Simulation): Awaitable<SimulationAnswer> {
  const { driver, state, dialect, budget } = simulation
  const plan = traced('plan', () => planOf(simulation))
  const answer = catchError(
    () => driver.simulate(plan, state, simulation),
    (error) => throwRefusal(error, plan),
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

function throwRefusal(error: unknown, plan: SimulationPlan): never {
  if (!(error instanceof SimulationRejected)) throw error
  const isFaultFirst = plan.fault?.isOfLastCall && !isBefore(error, plan)
  const { code, message } = presentRejection(error.rejection)
  const refusal = isFaultFirst ? plan.fault!.error : new RpcError(code, `${placeOf(error, plan)}: ${message}`)
  throw error.isAfterWork ? Object.assign(refusal, { cause: new CallsRan() }) : refusal
}

/** Whether geth would report this rejection before the fault at which the plan ends. */
function isBefore({ block, call, rejection }: SimulationRejected, { blocks }: SimulationPlan): boolean {
  if (block < blocks.length - 1 || rejection.kind === 'blockGasLimit') return true
  if (call === undefined) return rejection.kind !== 'depositLength' && rejection.kind !== 'requestQueue'
  return call < (blocks[block]?.calls.length ?? 0) - 1
}

/** Such as `blockStateCalls[1].calls[0]`; only the block if its overrides are at fault. */
function placeOf(rejected: SimulationRejected, plan: SimulationPlan): string {
  const index = plan.blocks[rejected.block]?.requestIndex
  if (index === undefined) return 'blockStateCalls'
  const block = `blockStateCalls[${index}]`
  return rejected.call === undefined ? block : `${block}.calls[${rejected.call}]`
}

import type { Cancellation, CancelSignal } from '@upfront/node'
import type { Dialect, JsonText, SimulationLimits } from '@upfront/protocol'
import { gasWithinMaximum } from '@upfront/receipt'
import { AnswerTooLong } from '@upfront/simulation'
import type { Environment } from '../environment/environment.js'
import { FIXED } from '../environment/fixed.js'
import type { Cost, RequestCosts } from '../limits/free-budget.js'
import type { RequestView } from '../pending/request-view.js'
import type { TimeLimits } from '../pending/simulation-base.js'

/** The limits of one request. The free endpoint and the paid routes differ in these and in the time-out. */
export interface RequestLimits extends SimulationLimits {
  /** Values of state that may be read from the node. */
  upstreamReads: number
  /** Gas limit of all runs behind one answer; absent: only time limits them. */
  gasOfAllRuns?: bigint
}

/** The limits of `POST /`. */
export function freeLimits({ LIMITS }: Environment): RequestLimits {
  const { calls: totalCalls, answerBytes, reads: upstreamReads } = LIMITS
  const { callsPerBlock } = FIXED
  return { blocks: 256, callsPerBlock, totalCalls, gas: BigInt(LIMITS.gas), answerBytes, upstreamReads }
}

/** The limits of paid requests. No run has more gas than the signed maximum pays for; none starts once earlier runs used that up. */
export function paidLimits(environment: Environment): RequestLimits {
  const { paidGas, paidReads: upstreamReads } = environment.LIMITS
  const most = BigInt(paidGas)
  const gasOfAllRuns = gasWithinMaximum(environment.PRICE_LIST) ?? most
  const gas = gasOfAllRuns < most ? gasOfAllRuns : most
  return { ...freeLimits(environment), gas, gasOfAllRuns, upstreamReads }
}

/** The limits with at most `answerBytes` for records and their JSON. */
export function narrowed(limits: RequestLimits, answerBytes: number): RequestLimits {
  return { ...limits, answerBytes: Math.min(limits.answerBytes, answerBytes) }
}

/** The engine's records are limited, but may be longer as JSON. @throws AnswerTooLong */
export function bounded<T extends JsonText>(json: T, { answerBytes }: RequestLimits): T {
  if (json.length > answerBytes) throw new AnswerTooLong(answerBytes)
  return json
}

/** The request's context, as a simulation sees it. */
export interface SimulationContext extends RequestCosts {
  dialect: Dialect
  /** May be created on first use: synchronous answers never use it. */
  readonly signal: CancelSignal
  /** When the signal aborts for lack of time, on the clock of `performance.now()`. */
  deadline: number
  /** The states behind this request's answers. */
  view: RequestView
  /** The request's limits. */
  readonly limits: RequestLimits
  /** Reserves memory, `bytes` in total, until the request is answered. @throws Overloaded if there is none */
  reserve?(bytes: number): void
  /** See `RecordTurn`. */
  record?(answerBytes: number): Promise<() => void>
  /** Decoding the body takes several turns of the event loop. */
  isLarge?: boolean
  /** Counts work that ended in an error and is therefore never charged. */
  spendInVain?(cost: Cost): void
}

/** Reads from the node end this long, or a quarter of the time left, before the deadline, so that the error names the node. */
const READ_MARGIN_MS = 250

/** When a request's reads end, on the clock of `performance.now()`. @param deadline of the request */
export function readUntil(deadline: number): number {
  return deadline - Math.min(READ_MARGIN_MS, (deadline - performance.now()) / 4)
}

/** The part of a request's time in which the node may be asked. */
export class ReadDeadline implements TimeLimits {
  readonly deadline: number
  readonly #request: Cancellation & RequestCosts & { deadline: number }

  constructor(request: Cancellation & RequestCosts & { deadline: number }) {
    this.#request = request
    this.deadline = readUntil(request.deadline)
  }

  get signal(): CancelSignal {
    return this.#request.signal
  }

  get costs(): RequestCosts {
    return this.#request
  }
}

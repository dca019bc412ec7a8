import type { Cancellation, CancelSignal } from '@upfront/node'
import type { Dialect, JsonText, SimulationLimits } from '@upfront/protocol'
import { gasWithinMaximum } from '@upfront/receipt'
import { AnswerTooLong } from '@upfront/simulation'
import type { Environment } from '../environment/environment.js'
import { FIXED } from '../environment/fixed.js'
import type { Cost, RequestCosts } from '../limits/free-budget.js'
import type { RequestView } from '../pending/request-view.js'
import type { TimeLimits } from '../pending/simulation-base.js'

/** What one request may use; the free endpoint and the paid routes differ in this alone. */
export interface RequestLimits extends SimulationLimits {
  /** Values of state read from upstream. */
  upstreamReads: number
  /** Of all runs that one answer takes; where absent, as much as there is time for. */
  gasOfAllRuns?: bigint
}

/** The limits of `POST /`. */
export function freeLimits({ LIMITS }: Environment): RequestLimits {
  const { calls: totalCalls, answerBytes, reads: upstreamReads } = LIMITS
  const { callsPerBlock } = FIXED
  return { blocks: 256, callsPerBlock, totalCalls, gas: BigInt(LIMITS.gas), answerBytes, upstreamReads }
}

/** The limits of what is sold: a run has no more gas than the signed maximum pays for, and no run begins once those before it took that. */
export function paidLimits(environment: Environment): RequestLimits {
  const { paidGas, paidReads: upstreamReads } = environment.LIMITS
  const most = BigInt(paidGas)
  const gasOfAllRuns = gasWithinMaximum(environment.PRICE_LIST) ?? most
  const gas = gasOfAllRuns < most ? gasOfAllRuns : most
  return { ...freeLimits(environment), gas, gasOfAllRuns, upstreamReads }
}

/** With less room for what is written down of calls, or the JSON of it. */
export function narrowed(limits: RequestLimits, answerBytes: number): RequestLimits {
  return { ...limits, answerBytes: Math.min(limits.answerBytes, answerBytes) }
}

/** What the engine wrote down is bounded; as JSON it may be longer. @throws AnswerTooLong */
export function bounded<T extends JsonText>(json: T, { answerBytes }: RequestLimits): T {
  if (json.length > answerBytes) throw new AnswerTooLong(answerBytes)
  return json
}

/** What a simulation may know of the request that asks for it. */
export interface SimulationContext extends RequestCosts {
  dialect: Dialect
  /** May be made only where it is asked for: what is answered at once never asks. */
  readonly signal: CancelSignal
  /** When the signal aborts for want of time, by `performance.now()`. */
  deadline: number
  /** What this request's answers stand on. */
  view: RequestView
  /** What it may use. */
  readonly limits: RequestLimits
  /** Sees to it that work under way has so much memory, until the request is answered. @throws Overloaded where there is none */
  reserve?(bytes: number): void
  /** See `RecordTurn`. */
  record?(answerBytes: number): Promise<() => void>
  /** The body is so large that decoding takes several turns of the event loop. */
  isLarge?: boolean
  /** Counts what work took that ended in an error, and so is never charged. */
  spendInVain?(cost: Cost): void
}

/** Left of the deadline when reads from upstream end, so that it is the upstream that the answer names. */
const READ_MARGIN_MS = 250

/** When a request's reads end, by `performance.now()`. @param deadline of the request */
export function readUntil(deadline: number): number {
  return deadline - READ_MARGIN_MS
}

/** The part of a request's time in which the node is asked. */
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

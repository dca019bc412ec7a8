import { type Awaitable, andThen, catchError } from '@upfront/node'
import { ErrorCode, RpcError, type SimulationRequest } from '@upfront/protocol'
import { AnswerTooLong, CallsRan, type Simulation, type SimulationAnswer, simulate } from '@upfront/simulation'
import { ClientGone, Overloaded } from '../limits/refused.js'
import type { SimulationContext } from './simulation-context.js'

/** The cost of work in progress. */
export interface WorkCost {
  gasUsed: bigint
  /** Counts values read from the node. */
  budget?: { readonly used: number }
}

/** The runs so far have used more gas than the signed maximum pays for. */
export class MaximumSpent extends RpcError {
  override readonly name = 'MaximumSpent'

  /** @param most gas that the signed maximum pays for, of all runs */
  constructor(gasUsed: bigint, most: bigint) {
    super(
      ErrorCode.limitExceeded,
      `the runs for this request used ${gasUsed} gas so far, and the signed maximum pays for ${most}: request fewer inspections, or give the calls less gas`,
    )
  }
}

/** A trace took longer than its `timeout`; geth's error. */
export class ExecutionTimeout extends RpcError {
  override readonly name = 'ExecutionTimeout'

  constructor() {
    super(ErrorCode.serverError, 'execution timeout')
  }
}

/** An upper bound of the engine's speed. */
const GAS_PER_MS = 1_000_000

/**
 * Runs work and counts its cost, whether it succeeds or not. How far a run got that reached a limit is not known, so it counts with its
 * full gas limit. A run cancelled because memory was short, perhaps through no fault of its own, because the client left, or by a trace's own
 * time-out, counts with what is possible in its time. Earlier runs are added.
 */
export function countSpending<T>(
  { gas }: { gas: bigint },
  context: Pick<SimulationContext, 'spend' | 'spendInVain'>,
  work: (taken: WorkCost) => Awaitable<T>,
): Awaitable<T> {
  const startedAt = performance.now()
  const taken: WorkCost = { gasUsed: 0n }
  const cost = (gasUsed: bigint) => ({ gasUsed, reads: taken.budget?.used ?? 0 })
  const done = catchError(
    () => work(taken),
    (error) => {
      let { gasUsed } = taken
      if (isCutShort(error)) gasUsed += maxGasSince(startedAt, gas)
      else if (hasReachedLimit(error)) gasUsed += gas
      context.spendInVain?.(cost(gasUsed))
      throw error
    },
  )
  return andThen(done, (result) => {
    context.spend?.(cost(taken.gasUsed))
    return result
  })
}

/**
 * Does one run of a simulation. If it is rejected because of an invalid transaction after other calls have run, it counts with what is
 * possible in its time, whether or not the request then fails.
 * @param isSpare the request continues without this run, however it fails
 */
export function countRefusedRun<T>(
  { gas }: { gas: bigint },
  context: Pick<SimulationContext, 'spend' | 'spendInVain'>,
  run: () => Awaitable<T>,
  isSpare = false,
): Awaitable<T> {
  const startedAt = performance.now()
  return catchError(run, (error) => {
    if (isSpare || (error instanceof RpcError && error.cause instanceof CallsRan))
      context.spendInVain?.({ gasUsed: maxGasSince(startedAt, gas) })
    throw error
  })
}

function isCutShort(error: unknown): boolean {
  return error instanceof Overloaded || error instanceof ClientGone || error instanceof ExecutionTimeout
}

/** Whether a run reached a limit; `MaximumSpent` means that it never started. */
function hasReachedLimit(error: unknown): boolean {
  return error instanceof RpcError && error.code === ErrorCode.limitExceeded && !(error instanceof MaximumSpent)
}

function maxGasSince(startedAt: number, most: bigint): bigint {
  const possible = BigInt(Math.ceil(performance.now() - startedAt) * GAS_PER_MS)
  return possible < most ? possible : most
}

/** Longer answers need reserved memory; their limit grows by a factor of `STEP`. */
export const SMALL_ANSWER_BYTES = 256 * 1024
const STEP = 16
/** Each byte of an answer is held raw, as hex and as JSON. */
const COPIES = 3
/** Bytes of a block without calls in an answer, and of a call without return data and logs. */
const BLOCK_BYTES = 2_048
const CALL_BYTES = 192

/**
 * `simulate` with about as much memory reserved as the answer needs: an answer that exceeds the reservation is made again with more, up to
 * the request's limit.
 * @param turn for the records that the answer is made from
 * @throws or rejects with what `simulate` throws; Overloaded if there is no memory
 */
export function simulateGrowing(
  simulation: Simulation,
  context: Pick<SimulationContext, 'reserve'>,
  turn?: LongTurn,
): Awaitable<SimulationAnswer> {
  const { limits, request } = simulation
  const work = (answerBytes: number) => {
    simulation.limits = { ...limits, answerBytes }
    const takesTurn = turn !== undefined && answerBytes > SMALL_ANSWER_BYTES
    return takesTurn ? turn.take(answerBytes).then(() => simulate(simulation)) : simulate(simulation)
  }
  return runWithGrowingLimit(limits, context, work, estimateAnswerBytes(request))
}

/**
 * Runs `work` with a limit of its answer's length, reserving memory as in `simulateGrowing`.
 * @param expectedBytes of the answer; no memory is reserved for small ones
 * @throws or rejects with what `work` throws; Overloaded if there is no memory
 */
export function runWithGrowingLimit<T>(
  limits: { answerBytes: number },
  context: Pick<SimulationContext, 'reserve'>,
  work: (answerBytes: number) => Awaitable<T>,
  expectedBytes = 0,
): Awaitable<T> {
  const within = (answerBytes: number): Awaitable<T> => {
    if (answerBytes > SMALL_ANSWER_BYTES) context.reserve?.(COPIES * answerBytes)
    return catchError(
      () => work(answerBytes),
      (error) => {
        if (!(error instanceof AnswerTooLong) || answerBytes >= limits.answerBytes) throw error
        return within(Math.min(answerBytes * STEP, limits.answerBytes))
      },
    )
  }
  return within(Math.min(Math.max(SMALL_ANSWER_BYTES, expectedBytes), limits.answerBytes))
}

function estimateAnswerBytes({ blockStateCalls }: SimulationRequest): number {
  return blockStateCalls.reduce((bytes, { calls }) => bytes + BLOCK_BYTES + CALL_BYTES * calls.length, 0)
}

/** The turn for a request's records, of the length reached so far. */
export interface LongTurn {
  answerBytes: number
  take(answerBytes: number): Promise<void>
}

/** Runs `work` and ends its turn afterwards, not earlier: the presented answer still refers to the records. */
export async function runInRecordTurn<T>(
  context: Pick<SimulationContext, 'record'>,
  work: (turn: LongTurn) => Awaitable<T>,
): Promise<T> {
  let leave: (() => void) | undefined
  let taken: Promise<void> = Promise.resolve()
  const grow = async (answerBytes: number) => {
    if (answerBytes <= turn.answerBytes) return
    // Gives up the turn first: otherwise two requests could each wait for the other's.
    leave?.()
    leave = undefined
    leave = await context.record?.(answerBytes)
    turn.answerBytes = answerBytes
  }
  const turn: LongTurn = {
    answerBytes: SMALL_ANSWER_BYTES,
    // Concurrent runs of one request share its turn.
    take: (answerBytes) => {
      const next = () => grow(answerBytes)
      taken = taken.then(next, next)
      return taken
    },
  }
  try {
    return await work(turn)
  } finally {
    leave?.()
  }
}

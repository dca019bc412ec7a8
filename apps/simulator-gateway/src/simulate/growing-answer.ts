import { type Awaitable, catchError } from '@upfront/node'
import type { SimulationRequest } from '@upfront/protocol'
import { AnswerTooLong, type Simulation, type SimulationAnswer, simulate } from '@upfront/simulation'

interface Reserving {
  /** Reserves memory, `bytes` in total, until the request is answered. @throws Overloaded if there is none */
  reserve?(bytes: number): void
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
  context: Reserving,
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
  context: Reserving,
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

interface Recording {
  /** Waits for the turn of a record of up to `answerBytes`. @returns a function that ends it */
  record?(answerBytes: number): Promise<() => void>
}

/** The turn for a request's records, of the length reached so far. */
export interface LongTurn {
  answerBytes: number
  take(answerBytes: number): Promise<void>
}

/** Runs `work` and ends its turn afterwards, not earlier: the presented answer still refers to the records. */
export async function runInRecordTurn<T>(context: Recording, work: (turn: LongTurn) => Awaitable<T>): Promise<T> {
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

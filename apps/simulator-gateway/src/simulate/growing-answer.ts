import { type Awaitable, recovered } from '@upfront/node'
import type { SimulationRequest } from '@upfront/protocol'
import { AnswerTooLong, type Simulation, type SimulationAnswer, simulate } from '@upfront/simulation'

interface Reserving {
  /** Sees to it that work under way has so much memory, until the request is answered. @throws Overloaded where there is none */
  reserve?(bytes: number): void
}

/** Longer answers are made once memory is reserved for them, in steps. */
export const SMALL_ANSWER_BYTES = 256 * 1024
const STEP = 16
/** A byte of an answer is held raw, as hex and as JSON. */
const COPIES = 3
/** What a block without calls takes in an answer, and what a call that returns and logs nothing adds. */
const BLOCK_BYTES = 2_048
const CALL_BYTES = 192

/**
 * `simulate`, with about as much memory reserved as the answer needs: where it is too long for what is reserved, it is made again
 * with more, up to the request's limit.
 * @param turn of what is recorded beside the answer
 * @throws or rejects with what `simulate` does; Overloaded where there is no memory
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
  return growing(limits, context, work, bytesOfPlainAnswer(request))
}

/**
 * Does work whose answer has at most so many bytes, with about as much memory reserved as that needs: see `simulateGrowing`.
 * @param expectedBytes of the answer; memory for a small one is not reserved
 * @throws or rejects with what `work` does; Overloaded where there is no memory
 */
export function growing<T>(
  limits: { answerBytes: number },
  context: Reserving,
  work: (answerBytes: number) => Awaitable<T>,
  expectedBytes = 0,
): Awaitable<T> {
  const within = (answerBytes: number): Awaitable<T> => {
    if (answerBytes > SMALL_ANSWER_BYTES) context.reserve?.(COPIES * answerBytes)
    return recovered(
      () => work(answerBytes),
      (error) => {
        if (!(error instanceof AnswerTooLong) || answerBytes >= limits.answerBytes) throw error
        return within(Math.min(answerBytes * STEP, limits.answerBytes))
      },
    )
  }
  return within(Math.min(Math.max(SMALL_ANSWER_BYTES, expectedBytes), limits.answerBytes))
}

function bytesOfPlainAnswer({ blockStateCalls }: SimulationRequest): number {
  return blockStateCalls.reduce((bytes, { calls }) => bytes + BLOCK_BYTES + CALL_BYTES * calls.length, 0)
}

interface Recording {
  /** Waits for the turn of a record of so many bytes. @returns what ends it */
  record?(answerBytes: number): Promise<() => void>
}

/** The turn of long records, as long as they grew so far. */
export interface LongTurn {
  answerBytes: number
  take(answerBytes: number): Promise<void>
}

/** Does work with the turn that it takes, which ends with it: what is shown of a record still holds parts of it. */
export async function takingTurns<T>(context: Recording, work: (turn: LongTurn) => Awaitable<T>): Promise<T> {
  let leave: (() => void) | undefined
  let taken: Promise<void> = Promise.resolve()
  const grow = async (answerBytes: number) => {
    if (answerBytes <= turn.answerBytes) return
    // Two that each hold a turn and wait for more would wait for each other.
    leave?.()
    leave = undefined
    leave = await context.record?.(answerBytes)
    turn.answerBytes = answerBytes
  }
  const turn: LongTurn = {
    answerBytes: SMALL_ANSWER_BYTES,
    // Runs of one request side by side share its turn.
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

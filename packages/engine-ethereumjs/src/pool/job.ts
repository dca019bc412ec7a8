import { type CancelSignal, onAbort } from '@upfront/node'
import type { StateRead, StateValue, Step } from '@upfront/simulation'
import type { Ending, Work } from './messages.js'

/** The state that a job runs on, as far as it is known. */
export interface JobState {
  /** In the order of `reads`; undefined where the value is not known. */
  values(reads: readonly StateRead[]): (StateValue | undefined)[]
  keep(reads: readonly StateRead[], values: readonly StateValue[]): void
}

export interface JobOptions<T> {
  work: Work
  state: JobState
  signal: CancelSignal
  /** Makes the outcome of a job's ending. @throws what the work failed with */
  outcome(ending: Ending): T
}

interface Asked {
  reads: readonly StateRead[]
  answer(values: StateValue[]): void
}

interface Waiter<T> {
  resolve(step: Step<T>): void
  reject(reason: unknown): void
}

/**
 * Work that a thread does, and whoever waits for its next step. Between two steps nobody does: the values that the thread
 * asked for are being read.
 */
export class Job<T = unknown> {
  readonly work: Work
  /** How often its thread died. */
  deaths = 0
  readonly #state: JobState
  readonly #outcome: (ending: Ending) => T
  readonly #onGivenUp: () => void
  readonly #onEnd: () => void
  #waiter: Waiter<T> | undefined
  #asked: Asked | undefined
  #isOver = false
  /** Why it is over, where it failed or was given up. */
  #failure: { reason: unknown } | undefined
  readonly #ignoreSignal: () => void

  constructor(
    { work, state, signal, outcome }: JobOptions<T>,
    on: {
      /** Nobody waits for it any more: its thread can stop. */
      givenUp(): void
      /** Called once, however it ends. */
      end(): void
    },
  ) {
    this.work = work
    this.#state = state
    this.#outcome = outcome
    this.#onGivenUp = on.givenUp
    this.#onEnd = on.end
    this.#ignoreSignal = onAbort(signal, () => this.#giveUp(signal.reason))
  }

  /** Rejects with what the work failed with, or the signal's reason. */
  nextStep(): Promise<Step<T>> {
    if (this.#failure) return Promise.reject(this.#failure.reason)
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
      this.#look()
    })
  }

  /** Its thread can't go on without these values. A thread that begins the job anew asks anew. */
  ask(reads: readonly StateRead[], answer: (values: StateValue[]) => void): void {
    this.#asked = { reads, answer }
    this.#look()
  }

  finish(ending: Ending): void {
    if (this.#isOver) return
    try {
      const outcome = this.#outcome(ending)
      this.#end()?.resolve({ kind: 'done', outcome })
    } catch (error) {
      this.fail(error)
    }
  }

  fail(reason: unknown): void {
    if (this.#isOver) return
    this.#failure = { reason }
    this.#end()?.reject(reason)
  }

  #look(): void {
    const asked = this.#asked
    const waiter = this.#waiter
    if (!asked || !waiter) return
    const values = this.#state.values(asked.reads)
    const reads = asked.reads.filter((_, index) => values[index] === undefined)
    if (reads.length === 0) {
      this.#answer(asked, values as StateValue[])
      return
    }
    this.#waiter = undefined
    waiter.resolve({
      kind: 'lacking',
      reads,
      resume: (read) => this.#resume(asked, values, reads, read),
      abandon: () => this.#giveUp(new Error('the work was abandoned')),
    })
  }

  #resume(
    asked: Asked,
    known: readonly (StateValue | undefined)[],
    reads: readonly StateRead[],
    read: readonly StateValue[],
  ): Promise<Step<T>> {
    if (read.length !== reads.length) throw new Error(`${read.length} values were given for ${reads.length} reads`)
    this.#state.keep(reads, read)
    let next = 0
    if (this.#asked === asked) {
      this.#answer(
        asked,
        known.map((value) => value ?? read[next++]!),
      )
    }
    return this.nextStep()
  }

  #answer({ answer }: Asked, values: StateValue[]): void {
    this.#asked = undefined
    answer(values)
  }

  #giveUp(reason: unknown): void {
    if (this.#isOver) return
    this.fail(reason)
    this.#onGivenUp()
  }

  /** Returns whoever waits. */
  #end(): Waiter<T> | undefined {
    const waiter = this.#waiter
    this.#isOver = true
    this.#waiter = undefined
    this.#asked = undefined
    this.#ignoreSignal()
    this.#onEnd()
    return waiter
  }
}

import type { Awaitable } from '@upfront/node'
import type { StateRead, StateValue } from './state.js'

/** The result of work, or the values it needs to continue. */
export type Step<T> = { kind: 'done'; outcome: T } | Lacking<T>

/** Work that waits for values of state. Either `resume` or `abandon` is called, once. */
export interface Lacking<T> {
  kind: 'lacking'
  /** At least one; none that a layer determines or the engine has cached. */
  reads: readonly StateRead[]
  /** How many of the reads, counted from the first, are certainly needed; the others are guesses. */
  certain: number
  /**
   * Continues with the values, which the engine caches.
   * @param values in the order of `reads`
   * @throws or rejects with what beginning the work does
   */
  resume(values: readonly StateValue[]): Awaitable<Step<T>>
  /** Ends the work after a failed read, or if no request waits for it. */
  abandon(): void
}

import type { Awaitable } from '@upfront/node'
import type { StateRead, StateValue } from './state.js'

/** How far work has come: it is done, or it can't go on without these values. */
export type Step<T> = { kind: 'done'; outcome: T } | Lacking<T>

/** Work that waits for values of the state. It is resumed or abandoned, once. */
export interface Lacking<T> {
  kind: 'lacking'
  /** At least one; none that a layer decides or the engine knows. */
  reads: readonly StateRead[]
  /** The work needs so many of them, those at the beginning, in any case; that it needs the others is a guess. */
  certain: number
  /**
   * Goes on. The engine keeps the values.
   * @param values in the order of `reads`
   * @throws or rejects with what beginning the work does
   */
  resume(values: readonly StateValue[]): Awaitable<Step<T>>
  /** Ends the work: a read failed, or nobody waits for it any more. */
  abandon(): void
}

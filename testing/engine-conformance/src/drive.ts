import type { Awaitable } from '@upfront/node'
import type { StateRead, StateValue, Step } from '@upfront/simulation'

/** A source of state values. */
export interface ValueSource {
  /** Results in the order of `reads`. */
  read(reads: readonly StateRead[]): Awaitable<readonly StateValue[]>
}

/** Drives the steps to the end with values from `source`; abandons them if a read fails. */
export async function drive<T>(first: Awaitable<Step<T>>, source: ValueSource): Promise<T> {
  let step = await first
  while (step.kind === 'lacking') {
    let values: readonly StateValue[]
    try {
      values = await source.read(step.reads)
    } catch (error) {
      step.abandon()
      throw error
    }
    step = await step.resume(values)
  }
  return step.outcome
}

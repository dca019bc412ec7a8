import { setImmediate } from 'node:timers/promises'

/** Parsing and checking so long a body takes milliseconds of the event loop. */
export const LARGE_BODY_BYTES = 65_536

/**
 * Work on large bodies: one after another, each step of one in a turn of the event loop of its own, so that others are served
 * between the steps.
 */
export class LargeBodies {
  private last: Promise<void> = Promise.resolve()
  /** Steps begun so far. */
  steps = 0

  /** Resolves once it is this step's turn. */
  step(): Promise<void> {
    this.last = this.last.then(async () => {
      await setImmediate()
      this.steps += 1
    })
    return this.last
  }
}

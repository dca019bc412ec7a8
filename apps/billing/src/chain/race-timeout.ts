import { setTimeout as sleep } from 'node:timers/promises'

/** How long an optional check waits for a node. */
export const OPTIONAL_CHECK_TIMEOUT_MS = 500

/** Returns the result of `work`, or `otherwise` if it takes longer. The work is not cancelled. */
export function raceTimeout<T, U>(milliseconds: number, work: Promise<T> | T, otherwise: U): Promise<T | U> {
  return Promise.race([work, sleep(milliseconds, otherwise, { ref: false })])
}

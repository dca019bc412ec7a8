import { setTimeout as sleep } from 'node:timers/promises'

/** How long an answer that can do without it waits for a node. */
export const PATIENCE_MILLISECONDS = 500

/** What the work comes to; `otherwise` where that takes longer. The work goes on. */
export function unlessLonger<T, U>(milliseconds: number, work: Promise<T> | T, otherwise: U): Promise<T | U> {
  return Promise.race([work, sleep(milliseconds, otherwise, { ref: false })])
}

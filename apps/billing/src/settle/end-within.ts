import { setTimeout as sleep } from 'node:timers/promises'

/** What is under way may take this long to end, as the service ends; a node that hangs keeps it no longer. */
const LONGEST_MILLISECONDS = 5_000

/** Waits for work to end, within bounds. What does not is found again at the next start. */
export async function endWithin(work: Promise<unknown>): Promise<void> {
  await Promise.race([work, sleep(LONGEST_MILLISECONDS, undefined, { ref: false })])
}

import { setImmediate } from 'node:timers/promises'
import type { Cancellation } from './cancellation.js'

let last: Promise<void> = Promise.resolve()

/**
 * Does one part of the work in each turn of the event loop, so that others are served between the parts. All work that is done so
 * shares the turns: one part of one of them in each.
 * @throws or rejects with what the work throws; the signal's reason once it aborts
 */
export async function inTurns<T>(parts: Generator<void, T>, { signal }: Cancellation): Promise<T> {
  for (;;) {
    last = last.then(() => setImmediate())
    await last
    signal.throwIfAborted()
    const { done, value } = parts.next()
    if (done) return value
  }
}

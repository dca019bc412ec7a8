import { setImmediate } from 'node:timers/promises'
import type { Cancellation } from './cancellation.js'

let last: Promise<void> = Promise.resolve()

/** Resolves in a turn of the event loop that nobody else who waits here has as well. */
function nextTurn(): Promise<void> {
  last = last.then(() => setImmediate())
  return last
}

/** What one piece of work may hold the event loop for, milliseconds. */
const MOST_MS = 5

/** What parts that are shorter than this are done together for, in one turn of the event loop, milliseconds. */
const TOGETHER_MS = 2

/**
 * Does a part of the work, or as many as take 2 ms, in each turn of the event loop, so that others are served between them. All work that
 * is done so shares the turns: parts of one of them in each.
 * @throws or rejects with what the work throws; the signal's reason once it aborts
 */
export async function inTurns<T>(parts: Generator<void, T>, { signal }: Cancellation): Promise<T> {
  for (;;) {
    await nextTurn()
    const since = performance.now()
    do {
      signal.throwIfAborted()
      const { done, value } = parts.next()
      if (done) return value
    } while (performance.now() - since < TOGETHER_MS)
  }
}

/**
 * Lets others have their turn of the event loop, every few milliseconds of a long piece of work. However many pieces are under way, one of
 * them has each turn.
 */
export class Turn {
  #since = performance.now()

  /** Resolves at once, or in another turn of the event loop where this one has been held long enough. */
  async pass(): Promise<void> {
    if (performance.now() - this.#since >= MOST_MS) await this.end()
  }

  /** Resolves in another turn of the event loop. */
  async end(): Promise<void> {
    await nextTurn()
    this.#since = performance.now()
  }
}

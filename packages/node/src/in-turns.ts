import { setImmediate } from 'node:timers/promises'
import type { Cancellation } from './cancellation.js'

/** Who waits here has a turn of the event loop alone, one after another. */
export class TurnQueue {
  #last: Promise<void> = Promise.resolve()

  /** Resolves in a turn that nobody else who waits here has as well. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => setImmediate())
    return this.#last
  }
}

/** Of all long work. */
const LONG_WORK = new TurnQueue()

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
    await LONG_WORK.next()
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
  readonly #queue: TurnQueue

  constructor(queue = LONG_WORK) {
    this.#queue = queue
  }

  /** Resolves at once, or in another turn of the event loop where this one has been held long enough. */
  async pass(): Promise<void> {
    if (performance.now() - this.#since >= MOST_MS) await this.end()
  }

  /** Resolves in another turn of the event loop. */
  async end(): Promise<void> {
    await this.#queue.next()
    this.#since = performance.now()
  }
}

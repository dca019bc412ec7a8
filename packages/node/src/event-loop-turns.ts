import { setImmediate } from 'node:timers/promises'
import type { Cancellation } from './cancellation.js'

/** Gives each waiter a turn of the event loop of its own, one after another. */
export class TurnQueue {
  #last: Promise<void> = Promise.resolve()

  /** Resolves in a turn that no other waiter of this queue shares. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => setImmediate())
    return this.#last
  }
}

/** Shared by all long work. */
const LONG_WORK = new TurnQueue()

/** Most time that one piece of work may hold the event loop, milliseconds. */
const MAX_HELD_MS = 5

/** Short parts share one turn of the event loop up to this time, milliseconds. */
const SLICE_MS = 2

/**
 * Runs the work part by part, for about 2 ms in each turn of the event loop, so that other
 * requests are served in between. Concurrent runs alternate.
 * @throws or rejects with what the work throws, or with the signal's reason once it aborts
 */
export async function runInSlices<T>(parts: Generator<void, T>, { signal }: Cancellation): Promise<T> {
  for (;;) {
    await LONG_WORK.next()
    const since = performance.now()
    do {
      signal.throwIfAborted()
      const { done, value } = parts.next()
      if (done) return value
    } while (performance.now() - since < SLICE_MS)
  }
}

/** Yields to the event loop every few milliseconds of long work. Of all concurrent works, one runs in each turn. */
export class EventLoopTurn {
  #since = performance.now()
  readonly #queue: TurnQueue

  constructor(queue = LONG_WORK) {
    this.#queue = queue
  }

  /** Resolves at once, or in a later turn of the event loop if this one has been held for long enough. */
  async yieldIfLong(): Promise<void> {
    if (performance.now() - this.#since >= MAX_HELD_MS) await this.yieldNow()
  }

  /** Resolves in a later turn of the event loop. */
  async yieldNow(): Promise<void> {
    await this.#queue.next()
    this.#since = performance.now()
  }
}

import { setImmediate } from 'node:timers/promises'

/** What one piece of work may hold the event loop for. */
const MOST_MS = 5

/** Lets others have their turn of the event loop, every few milliseconds of a long piece of work. */
export class Turn {
  #since = performance.now()

  /** Resolves at once, or in another turn of the event loop where this one has been held long enough. */
  async pass(): Promise<void> {
    if (performance.now() - this.#since >= MOST_MS) await this.end()
  }

  /** Resolves in another turn of the event loop. */
  async end(): Promise<void> {
    await setImmediate()
    this.#since = performance.now()
  }
}

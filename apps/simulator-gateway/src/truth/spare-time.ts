import { setTimeout as rest } from 'node:timers/promises'

/** What is done in spare time takes so much of a core at most. */
const SHARE = 0.1

interface SpareTimeOptions {
  /** Resolves while no client's request is under way. */
  idle(): Promise<void>
  /** Pieces of work that wait, at most; of each kind. */
  mostWaiting: number
  onFailure(error: unknown): void
}

/**
 * Does work while no client has any, one piece after the other, and rests between them so that all of it stays below a tenth of a core. Of
 * ordinary work the newest is done first, as what is old is soon of no use, and the oldest is left out where more waits than may; urgent work is
 * done in its order, and the newest is left out.
 */
export class SpareTime {
  readonly #urgent: (() => Promise<void>)[] = []
  readonly #ordinary: (() => Promise<void>)[] = []
  readonly #ended = new AbortController()
  readonly #options: SpareTimeOptions
  #isRunning = false
  #busyMs = 0

  constructor(options: SpareTimeOptions) {
    this.#options = options
  }

  /** Milliseconds of a core that work took so far, at most. */
  get busyMs(): number {
    return this.#busyMs
  }

  get waiting(): number {
    return this.#urgent.length + this.#ordinary.length
  }

  /** @returns false where another piece is left out for it */
  add(work: () => Promise<void>): boolean {
    const isFull = this.#ordinary.length >= this.#options.mostWaiting
    if (isFull) this.#ordinary.shift()
    this.#ordinary.push(work)
    this.#run()
    return !isFull
  }

  /** Before all that is not urgent. @returns false where it is left out */
  addUrgent(work: () => Promise<void>): boolean {
    if (this.#urgent.length >= this.#options.mostWaiting) return false
    this.#urgent.push(work)
    this.#run()
    return true
  }

  end(): void {
    this.#ended.abort()
    this.#urgent.length = 0
    this.#ordinary.length = 0
  }

  #run(): void {
    if (this.#isRunning || this.#ended.signal.aborted) return
    this.#isRunning = true
    void this.#work().finally(() => {
      this.#isRunning = false
      if (this.waiting > 0) this.#run()
    })
  }

  async #work(): Promise<void> {
    const { signal } = this.#ended
    while (this.waiting > 0) {
      await this.#options.idle()
      if (signal.aborted) return
      const work = this.#urgent.shift() ?? this.#ordinary.pop()
      const startedAt = performance.now()
      const cpu = process.cpuUsage()
      await work?.().catch(this.#options.onFailure)
      const { user, system } = process.cpuUsage(cpu)
      // The process's time holds others' work too, time on the clock waits for the node: the work took less than either.
      const took = Math.min(performance.now() - startedAt, (user + system) / 1_000)
      this.#busyMs += took
      await rest(took * (1 / SHARE - 1), undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
}

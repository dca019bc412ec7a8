import { setTimeout as rest } from 'node:timers/promises'

/** Spare-time work takes at most this share of a core. */
const SHARE = 0.1

interface SpareTimeOptions {
  /** Resolves while no client's request is under way. */
  idle(): Promise<void>
  /** Most waiting pieces of each kind. */
  maxWaiting: number
  onFailure(error: unknown): void
}

/**
 * Runs work while clients have none, one piece at a time, with pauses that keep it below a tenth of a core. Ordinary work runs newest
 * first, because old work is soon useless; if too much waits, the oldest is dropped. Urgent work runs in order; if too much waits, the
 * newest is dropped.
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

  /** Upper bound of the CPU time used so far, in milliseconds. */
  get busyMs(): number {
    return this.#busyMs
  }

  get waiting(): number {
    return this.#urgent.length + this.#ordinary.length
  }

  /** @returns false if another piece was dropped for it */
  add(work: () => Promise<void>): boolean {
    const isFull = this.#ordinary.length >= this.#options.maxWaiting
    if (isFull) this.#ordinary.shift()
    this.#ordinary.push(work)
    this.#run()
    return !isFull
  }

  /** Adds work that runs before ordinary work. @returns false if it was dropped */
  addUrgent(work: () => Promise<void>): boolean {
    if (this.#urgent.length >= this.#options.maxWaiting) return false
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
      // CPU time includes other work of the process, wall time includes waiting for the node: the work took at most the smaller.
      const took = Math.min(performance.now() - startedAt, (user + system) / 1_000)
      this.#busyMs += took
      await rest(took * (1 / SHARE - 1), undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
}

import { setImmediate } from 'node:timers/promises'

/** How long a simulation runs before others on its thread get a turn. */
const SLICE_MS = 10
/** The clock is looked at once in so many checks. */
const CHECKS_PER_LOOK = 256

/** Lets the simulations of one thread take turns. */
export class TimeSlice {
  #checks = 0
  #began = performance.now()
  #cancelled: Error | undefined
  readonly #resumed: () => void

  /** @param resumed called when it goes on after a turn of others */
  constructor(resumed: () => void = () => undefined) {
    this.#resumed = resumed
  }

  /** The simulation ends with `reason` at its next check. */
  cancel(reason: Error): void {
    this.#cancelled = reason
  }

  throwIfCancelled(): void {
    if (this.#cancelled) throw this.#cancelled
  }

  /** To be called again and again during a computation, and awaited. */
  check(): Promise<void> | undefined {
    if (++this.#checks < CHECKS_PER_LOOK) return undefined
    return this.look()
  }

  look(): Promise<void> | undefined {
    this.#checks = 0
    return performance.now() - this.#began < SLICE_MS ? undefined : this.#yield()
  }

  async #yield(): Promise<void> {
    await setImmediate()
    this.throwIfCancelled()
    this.#resumed()
    this.#began = performance.now()
  }
}

/** Within another's slices, for work that ends with an error after so many checks. */
export class LimitedSlice extends TimeSlice {
  readonly #whole: TimeSlice
  #left: number

  constructor(whole: TimeSlice, left: number) {
    super()
    this.#whole = whole
    this.#left = left
  }

  override check(): Promise<void> | undefined {
    if (--this.#left < 0) throw new Error('the limit of checks is reached')
    return this.#whole.check()
  }

  override look(): Promise<void> | undefined {
    return this.#whole.look()
  }
}

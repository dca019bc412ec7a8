import { setImmediate } from 'node:timers/promises'

/** How long a simulation runs before others on its thread get a turn. */
const SLICE_MS = 10
/** The clock is looked at once in so many checks. */
const CHECKS_PER_LOOK = 256

/** Lets the simulations of one thread take turns. */
export class TimeSlice {
  private checks = 0
  private began = performance.now()
  private cancelled: Error | undefined

  /** @param resumed called when it goes on after a turn of others */
  constructor(private readonly resumed: () => void = () => undefined) {}

  /** The simulation ends with `reason` at its next check. */
  cancel(reason: Error): void {
    this.cancelled = reason
  }

  /** To be called again and again during a computation, and awaited. */
  check(): Promise<void> | undefined {
    if (++this.checks < CHECKS_PER_LOOK) return undefined
    return this.look()
  }

  look(): Promise<void> | undefined {
    this.checks = 0
    return performance.now() - this.began < SLICE_MS ? undefined : this.yield()
  }

  private async yield(): Promise<void> {
    await setImmediate()
    if (this.cancelled) throw this.cancelled
    this.resumed()
    this.began = performance.now()
  }
}

/** For work that lets nobody go on, and ends at so many checks. */
export class SingleTurn extends TimeSlice {
  constructor(private left: number) {
    super()
  }

  override check(): undefined {
    if (--this.left < 0) throw new Error('its only turn is over')
  }

  override look(): undefined {}
}

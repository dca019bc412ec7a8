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
  private turns = Number.POSITIVE_INFINITY

  /** @param resumed called when it goes on after a turn of others */
  constructor(private readonly resumed: () => void = () => undefined) {}

  /** For work that ends where it would have to let others go on. */
  static ofOneTurn(): TimeSlice {
    const slice = new TimeSlice()
    slice.turns = 1
    return slice
  }

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
    if (--this.turns <= 0) throw new Error('its only turn is over')
    await setImmediate()
    if (this.cancelled) throw this.cancelled
    this.resumed()
    this.began = performance.now()
  }
}

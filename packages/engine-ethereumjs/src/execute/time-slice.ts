import { setImmediate } from 'node:timers/promises'

/** How long a simulation may keep its thread to itself. */
const SLICE_MS = 10
/** Looks at the clock once in so many checks. */
const CHECKS_PER_LOOK = 256

/** Lets the simulations of one thread take turns. */
export class TimeSlice {
  private checks = 0
  private began = performance.now()
  private cancelled: Error | undefined

  /** @param resumed called when it computes again after a turn of others */
  constructor(private readonly resumed: () => void = () => undefined) {}

  /** What it belongs to ends with `reason` at its next check. */
  cancel(reason: Error): void {
    this.cancelled = reason
  }

  /** To be called again and again while something computes; what it returns is to be awaited. */
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

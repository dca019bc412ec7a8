import type { Memory } from './memory.js'
import { Overloaded } from './overloaded.js'

/** Work that can be ended. */
export interface Running {
  /** Whose it is. */
  readonly client: string
  cancel(reason: Error): void
}

const LOOK_EVERY_MS = 10
/** Of the limit: from here on work is ended, half of it in the middle, all of it at the limit. */
const HIGH_WATER = 0.75

/**
 * Ends work before the kernel ends the process: what the EVM's own memory takes is not known ahead. While work goes on that was not
 * answered at once, it looks at the process's resident memory, and above the mark ends the newest work of the clients with the most.
 */
export class MemoryGuard {
  private readonly running = new Set<Running>()
  private timer: NodeJS.Timeout | undefined
  /** Work that was ended so far. */
  ended = 0

  constructor(
    private readonly memory: Pick<Memory, 'limit'>,
    private readonly residentBytes: () => number = () => process.memoryUsage.rss(),
  ) {}

  watch(work: Running): void {
    this.running.add(work)
    this.timer ??= setInterval(() => this.look(), LOOK_EVERY_MS).unref()
  }

  leave(work: Running): void {
    if (!this.running.delete(work) || this.running.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }

  /** Looks once; the timer does so too. */
  look(): void {
    const mark = this.memory.limit * HIGH_WATER
    const excess = (this.residentBytes() - mark) / (this.memory.limit - mark)
    if (excess < 0) return
    const count = Math.max(1, Math.ceil(this.running.size * Math.min(1, excess)))
    for (let left = count; left > 0; left -= 1) this.endOne()
  }

  private endOne(): void {
    const work = this.newestOfTheBiggest()
    if (work === undefined) return
    this.leave(work)
    this.ended += 1
    work.cancel(new Overloaded('memory is short: the work was ended'))
  }

  private newestOfTheBiggest(): Running | undefined {
    const counts = new Map<string, number>()
    for (const { client } of this.running) counts.set(client, (counts.get(client) ?? 0) + 1)
    let chosen: Running | undefined
    for (const work of this.running) {
      if (chosen === undefined || counts.get(work.client)! >= counts.get(chosen.client)!) chosen = work
    }
    return chosen
  }
}

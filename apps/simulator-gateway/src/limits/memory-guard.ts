import type { Memory } from './memory.js'
import { Overloaded } from './overloaded.js'
import type { RequestQueue } from './request-queue.js'

/** Work that can be ended. */
export interface Running {
  /** Whose it is. */
  readonly client: string
  cancel(reason: Error): void
}

const LOOK_EVERY_MS = 10
/** Of the limit: from here on half of the work is ended, from the next mark on all of it: threads take a while to follow. */
const HIGH_WATER = 0.75
const HIGHEST_WATER = 0.85
/** Below this mark so much work is spared: bodies, answers or garbage may be what takes the memory. */
const LAST_WATER = 0.9
const SPARED = 2

/**
 * Ends work before the kernel ends the process: what the EVM's own memory takes is not known ahead. While work goes on that was not
 * answered at once, it looks at the process's resident memory. Above the mark it ends the newest work of the clients with the most and lets
 * less in at a time, which grows again as memory is freed.
 */
export class MemoryGuard {
  private readonly running = new Set<Running>()
  private timer: NodeJS.Timeout | undefined
  /** Work that was ended so far. */
  ended = 0

  constructor(
    private readonly memory: Pick<Memory, 'limit'>,
    private readonly queue: Pick<RequestQueue, 'narrow' | 'widen' | 'settle'>,
    private readonly residentBytes: () => number = () => process.memoryUsage.rss(),
  ) {}

  watch(work: Running): void {
    this.running.add(work)
    this.timer ??= setInterval(() => this.look(), LOOK_EVERY_MS).unref()
  }

  leave(work: Running): void {
    if (this.running.delete(work)) this.rest()
  }

  private rest(): void {
    if (this.running.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
    this.queue.settle()
  }

  /** Looks once; the timer does so too. */
  look(): void {
    const share = this.residentBytes() / this.memory.limit
    if (share < HIGH_WATER) {
      this.queue.widen()
      this.rest()
      return
    }
    this.queue.narrow()
    const most = share < HIGHEST_WATER ? Math.ceil(this.running.size / 2) : this.running.size
    const count = share < LAST_WATER ? Math.min(most, this.running.size - SPARED) : most
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

import type { Memory } from './memory.js'
import { Overloaded } from './refused.js'

/** Work that can be cancelled. */
export interface Running {
  /** The client that it is for. */
  readonly client: string
  /** Memory reserved for it. */
  readonly bytes: number
  cancel(reason: Error): void
}

const CHECK_INTERVAL_MS = 10
/** Share of the memory limit above which work is cancelled. Not the limit itself: threads allocate more until they stop. */
const HIGH_WATER = 0.85
/** Above this share no client is spared. */
const CRITICAL_SHARE = 0.95

/**
 * Cancels work before the kernel kills the process, if more memory is used than was reserved. Checks resident memory while any work is
 * under way that was not answered synchronously. Above the mark, each check cancels half of the work: first of the clients with the most
 * reserved bytes, then of those with the most requests, oldest first. A client's only request, if nothing is reserved for it, is spared.
 */
export class MemoryGuard {
  readonly #running = new Set<Running>()
  #timer: NodeJS.Timeout | undefined
  /** How many requests were cancelled. */
  ended = 0
  readonly #memory: Pick<Memory, 'limit'>
  readonly #residentBytes: () => number

  constructor(memory: Pick<Memory, 'limit'>, residentBytes: () => number = () => process.memoryUsage.rss()) {
    this.#memory = memory
    this.#residentBytes = residentBytes
  }

  watch(work: Running): void {
    this.#running.add(work)
    this.#timer ??= setInterval(() => this.check(), CHECK_INTERVAL_MS).unref()
  }

  leave(work: Running): void {
    if (!this.#running.delete(work) || this.#running.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Checks once; also called by the timer. */
  check(): void {
    const share = this.#residentBytes() / this.#memory.limit
    if (share < HIGH_WATER) return
    const users = this.#users()
    const user = ({ client }: Running) => users.get(client)!
    const mayEnd = [...this.#running].filter(
      (work) => share >= CRITICAL_SHARE || user(work).bytes > 0 || user(work).requests > 1,
    )
    mayEnd.sort((a, b) => user(b).bytes - user(a).bytes || user(b).requests - user(a).requests)
    for (const work of mayEnd.slice(0, Math.ceil(mayEnd.length / 2))) {
      this.leave(work)
      this.ended += 1
      work.cancel(new Overloaded('the server is short of memory and aborted the request; try again later'))
    }
  }

  #users(): Map<string, { bytes: number; requests: number }> {
    const users = new Map<string, { bytes: number; requests: number }>()
    for (const { client, bytes } of this.#running) {
      const user = users.get(client) ?? { bytes: 0, requests: 0 }
      users.set(client, { bytes: user.bytes + bytes, requests: user.requests + 1 })
    }
    return users
  }
}

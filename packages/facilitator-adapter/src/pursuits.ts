import { setTimeout as sleep } from 'node:timers/promises'
import { BillingRejected } from './billing-error.js'

export type Log = (level: 'info' | 'warn' | 'error', message: string, fields: Record<string, unknown>) => void

const FIRST_PAUSE = 500
const LONGEST_PAUSE = 10_000

/**
 * Calls that billing may not have heard, repeated in the background until it has, or until the authorization's deadline:
 * then nothing can come of them any more. They live in this process: see the README for what its end can cost.
 */
export class Pursuits {
  readonly #running = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** How many calls are still unheard. */
  get size(): number {
    return this.#running.size
  }

  /** @param deadline seconds since 1970 */
  begin(what: string, fields: Record<string, unknown>, deadline: bigint, attempt: () => Promise<void>): void {
    const running = this.#pursue(what, fields, Number(deadline) * 1000, attempt).finally(() => {
      this.#running.delete(running)
    })
    this.#running.add(running)
  }

  /** Waits for what is unheard, this long at most, then gives it up. */
  async close(milliseconds: number): Promise<void> {
    if (this.#running.size === 0) return
    const timer = setTimeout(() => this.#stop.abort(), milliseconds)
    await Promise.allSettled(this.#running)
    clearTimeout(timer)
  }

  async #pursue(
    what: string,
    fields: Record<string, unknown>,
    deadline: number,
    attempt: () => Promise<void>,
  ): Promise<void> {
    this.#log('warn', `${what} is not acknowledged; going on in the background`, fields)
    for (let pause = FIRST_PAUSE; Date.now() < deadline; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        await sleep(pause, undefined, { signal: this.#stop.signal })
      } catch {
        this.#log('error', `${what} is given up: the process ends`, fields)
        return
      }
      try {
        await attempt()
        this.#log('info', `${what} is acknowledged`, fields)
        return
      } catch (error) {
        if (!(error instanceof BillingRejected)) continue
        this.#log('error', `${what} is given up: ${error.message}`, fields)
        return
      }
    }
    this.#log('error', `${what} is given up: the authorization has ended`, fields)
  }
}

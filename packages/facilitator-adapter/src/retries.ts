import { setTimeout as sleep } from 'node:timers/promises'
import { BillingRejected, isTransient } from './billing-error.js'

export type Log = (level: 'info' | 'warn' | 'error', message: string, fields: Record<string, unknown>) => void

/** A call that billing has not acknowledged. */
export interface UnacknowledgedCall {
  /** A call is dropped while another one with the same key is being retried. */
  key: string
  /** Description for the log, such as `a charge`. */
  what: string
  /** Fields for the log. Contains no signature. */
  fields: Record<string, unknown>
  /** Deadline of the authorization, Unix seconds. After it the call has no effect. */
  deadline: bigint
  attempt(): Promise<void>
  /** Called when the call is acknowledged, refused, or can have no effect any more. Not called if the process ends first. */
  done?(): Promise<void>
}

const FIRST_PAUSE = 500
const MAX_PAUSE = 10_000

/** Retries calls in the background until billing acknowledges them. */
export class Retries {
  readonly #running = new Map<string, Promise<void>>()
  readonly #stop = new AbortController()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** Number of calls that are not acknowledged. */
  get size(): number {
    return this.#running.size
  }

  begin(call: UnacknowledgedCall): void {
    if (this.#running.has(call.key)) return
    this.#running.set(
      call.key,
      this.#repeat(call).finally(() => this.#running.delete(call.key)),
    )
  }

  /** Waits at most this long for open calls, then stops. */
  async close(milliseconds: number): Promise<void> {
    const waited = new AbortController()
    const running = Promise.all(this.#running.values()).finally(() => waited.abort())
    await sleep(this.#running.size === 0 ? 0 : milliseconds, undefined, { signal: waited.signal }).catch(
      () => undefined,
    )
    this.#stop.abort()
    await running
  }

  async #repeat({ what, fields, deadline, attempt, done }: UnacknowledgedCall): Promise<void> {
    this.#log('warn', `${what} is not acknowledged; it will be retried in the background`, fields)
    for (let pause = FIRST_PAUSE; Date.now() < Number(deadline) * 1000; pause = Math.min(pause * 2, MAX_PAUSE)) {
      try {
        await sleep(pause, undefined, { signal: this.#stop.signal })
      } catch {
        const end = done === undefined ? 'given up' : 'left to the next start'
        return this.#log('error', `${what} is ${end}: the process ends`, fields)
      }
      try {
        await attempt()
        this.#log('info', `${what} is acknowledged`, fields)
        return await done?.()
      } catch (error) {
        if (!(error instanceof BillingRejected) || isTransient(error)) continue
        this.#log('error', `${what} is given up: ${error.message}`, fields)
        return await done?.()
      }
    }
    this.#log('error', `${what} is given up: the authorization has ended`, fields)
    await done?.()
  }
}

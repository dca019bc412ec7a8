import { setImmediate } from 'node:timers'
import type { CallLimits, UpstreamCall } from './upstream-call.js'
import type { UpstreamClient } from './upstream-client.js'

interface Waiting {
  call: UpstreamCall<unknown>
  resolve: (value: unknown) => void
  reject: (reason: unknown) => void
}

/** Sends the calls that one request makes in the same turn of the event loop in one HTTP request. */
export class CallsTogether implements Pick<UpstreamClient, 'call'> {
  readonly #client: Pick<UpstreamClient, 'batch'>
  readonly #limits: CallLimits
  #waiting: Waiting[] = []

  /** @param limits of all calls */
  constructor(client: Pick<UpstreamClient, 'batch'>, limits: CallLimits) {
    this.#client = client
    this.#limits = limits
  }

  /** As `UpstreamClient.call`. */
  call<T>(call: UpstreamCall<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#send())
      this.#waiting.push({ call, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  #send(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#client
      .batch(
        waiting.map(({ call }) => call),
        this.#limits,
        (index, outcome) => {
          const { resolve, reject } = waiting[index]!
          if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.value)
        },
      )
      .catch((reason) => {
        for (const { reject } of waiting) reject(reason)
      })
  }
}

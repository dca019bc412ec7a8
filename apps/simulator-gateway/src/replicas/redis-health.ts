import type { Logger } from '@upfront/service'

const MAX_TIMEOUTS = 3
const ALONE_MS = 5_000

/**
 * Stops using Redis for some seconds after three time-outs in a row, so that requests don't wait for a hanging server; then one request
 * tries it again.
 */
export class RedisHealth {
  #timeouts = 0
  #aloneUntil = 0
  readonly #logger: Pick<Logger, 'warn' | 'info'>
  readonly #now: () => number

  constructor(logger: Pick<Logger, 'warn' | 'info'>, now: () => number = () => performance.now()) {
    this.#logger = logger
    this.#now = now
  }

  get isAlone(): boolean {
    return this.#timeouts >= MAX_TIMEOUTS
  }

  mayAsk(): boolean {
    if (!this.isAlone) return true
    const now = this.#now()
    if (now < this.#aloneUntil) return false
    this.#aloneUntil = now + ALONE_MS
    return true
  }

  answered(): void {
    if (this.isAlone) this.#logger.info('Redis answers again: replicas share limits')
    this.#timeouts = 0
  }

  failed(error: unknown): void {
    // Only time-outs count: if Redis is down, commands fail at once.
    if (!(error instanceof Error && /timed out/.test(error.message))) return
    this.#timeouts += 1
    if (this.#timeouts !== MAX_TIMEOUTS) return
    this.#aloneUntil = this.#now() + ALONE_MS
    this.#logger.warn('Redis does not answer in time: this replica counts limits on its own')
  }
}

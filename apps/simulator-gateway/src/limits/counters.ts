import cluster from 'node:cluster'
import {
  type RateLimiterAbstract,
  RateLimiterCluster,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { SharedRedis } from '../replicas/shared-redis.js'

export interface CounterOptions {
  /** Key prefix of the counter, shared by all processes. */
  name: string
  points: number
  /** Seconds. */
  duration: number
}

/** Counts points per client within a period. */
export interface Counter {
  readonly points: number
  /** Counts one point. Rejects with RateLimiterRes if `points` is exceeded. */
  consume(client: string): Promise<RateLimiterRes>
  /** Counts `points` without a limit. */
  penalty(client: string, points: number): Promise<RateLimiterRes>
}

/** Creates a counter, wherever its counts are kept. */
export type MakeCounter = (options: CounterOptions) => Counter

/** Counts in Redis if configured, shared by all replicas (locally while Redis is down); otherwise among the workers of this machine. */
export function counters({ redis, health }: Pick<SharedRedis, 'redis' | 'health'>): MakeCounter {
  if (redis !== undefined)
    return ({ name, ...options }) => {
      const inRedis = { storeClient: redis, keyPrefix: `upfront:${name}`, rejectIfRedisNotReady: true }
      const shared = new RateLimiterRedis({ ...options, ...inRedis })
      return new SharedCounter(shared, inMemory({ name, ...options }), health)
    }
  return cluster.isWorker ? amongWorkers : inMemory
}

export function inMemory({ name, points, duration }: CounterOptions): RateLimiterAbstract {
  return new RateLimiterMemory({ keyPrefix: name, points, duration })
}

function amongWorkers({ name, points, duration }: CounterOptions): RateLimiterAbstract {
  return new RateLimiterCluster({ keyPrefix: name, points, duration, timeoutMs: 1_000 })
}

/** Decides whether to ask Redis, from the outcome of earlier requests to it. */
export interface StoreHealth {
  mayAsk(): boolean
  answered(): void
  failed(error: unknown): void
}

/**
 * Counts in a store that all replicas share, or in this process while the store does not answer. Periods are aligned to the clock: what
 * reaches the store only after an outage counts for the period in which it was sent.
 */
export class SharedCounter implements Counter {
  readonly #shared: RateLimiterAbstract
  readonly #own: Counter
  readonly #health: StoreHealth

  constructor(shared: RateLimiterAbstract, own: Counter, health: StoreHealth) {
    this.#shared = shared
    this.#own = own
    this.#health = health
  }

  get points(): number {
    return this.#shared.points
  }

  consume(client: string): Promise<RateLimiterRes> {
    return this.#count(
      (key) => this.#shared.consume(`${client}:${key}`),
      () => this.#own.consume(client),
    )
  }

  penalty(client: string, points: number): Promise<RateLimiterRes> {
    return this.#count(
      (key) => this.#shared.penalty(`${client}:${key}`, points),
      () => this.#own.penalty(client, points),
    )
  }

  async #count(
    shared: (key: number) => Promise<RateLimiterRes>,
    own: () => Promise<RateLimiterRes>,
  ): Promise<RateLimiterRes> {
    if (!this.#health.mayAsk()) return own()
    const durationMs = this.#shared.duration * 1_000
    const now = Date.now()
    const key = Math.floor(now / durationMs)
    const until = (key + 1) * durationMs - now
    const answered = (result: RateLimiterRes) => {
      this.#health.answered()
      return Object.assign(result, { msBeforeNext: until })
    }
    try {
      return answered(await shared(key))
    } catch (error) {
      if (error instanceof RateLimiterRes) throw answered(error)
      this.#health.failed(error)
      return own()
    }
  }
}

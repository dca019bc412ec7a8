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
  /** Names it among the counters of all processes. */
  name: string
  points: number
  /** Seconds. */
  duration: number
}

/** Counts points by client within a duration. */
export interface Counter {
  readonly points: number
  /** Counts one. Rejects with RateLimiterRes where there are more than `points`. */
  consume(client: string): Promise<RateLimiterRes>
  /** Counts so many, however many there are. */
  penalty(client: string, points: number): Promise<RateLimiterRes>
}

/** Makes what counts by client, wherever that is kept. */
export type MakeCounter = (options: CounterOptions) => Counter

/** In Redis, shared by all replicas, and in this process while Redis does not answer; else by the processes of this machine. */
export function counters({ redis, health }: Pick<SharedRedis, 'redis' | 'health'>): MakeCounter {
  if (redis !== undefined) {
    return ({ name, ...options }) => {
      const inRedis = { storeClient: redis, keyPrefix: `upfront:${name}`, rejectIfRedisNotReady: true }
      const shared = new RateLimiterRedis({ ...options, ...inRedis })
      return new SharedCounter(shared, inMemory({ name, ...options }), health)
    }
  }
  return cluster.isWorker ? amongWorkers : inMemory
}

export function inMemory({ name, points, duration }: CounterOptions): RateLimiterAbstract {
  return new RateLimiterMemory({ keyPrefix: name, points, duration })
}

function amongWorkers({ name, points, duration }: CounterOptions): RateLimiterAbstract {
  return new RateLimiterCluster({ keyPrefix: name, points, duration, timeoutMs: 1_000 })
}

/** Whether Redis is to be asked, from what became of what it was asked. */
export interface StoreHealth {
  mayAsk(): boolean
  answered(): void
  failed(error: unknown): void
}

/**
 * Counts in a store that all replicas share, or in this process while that does not answer. Durations begin with the clock's: what the store
 * does only after an outage counts for the duration that it was asked in.
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

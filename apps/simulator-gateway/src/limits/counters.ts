import cluster from 'node:cluster'
import type { Redis } from 'ioredis'
import {
  type RateLimiterAbstract,
  RateLimiterCluster,
  RateLimiterMemory,
  RateLimiterRedis,
} from 'rate-limiter-flexible'

export interface CounterOptions {
  /** Names it among the counters of all processes. */
  name: string
  points: number
  /** Seconds. */
  duration: number
}

/** Makes what counts by client, wherever that is kept. */
export type MakeCounter = (options: CounterOptions) => RateLimiterAbstract

/** In Redis, shared by all replicas, and in this process while Redis can't be reached; else by the processes of this machine. */
export function counters(redis: Redis | undefined): MakeCounter {
  if (redis !== undefined) return (options) => inRedis(redis, options)
  return cluster.isWorker ? amongWorkers : inMemory
}

export function inMemory({ name, points, duration }: CounterOptions): RateLimiterAbstract {
  return new RateLimiterMemory({ keyPrefix: name, points, duration })
}

function amongWorkers({ name, points, duration }: CounterOptions): RateLimiterAbstract {
  return new RateLimiterCluster({ keyPrefix: name, points, duration, timeoutMs: 1_000 })
}

function inRedis(redis: Redis, { name, points, duration }: CounterOptions): RateLimiterAbstract {
  const insuranceLimiter = new RateLimiterMemory({ keyPrefix: name, points, duration })
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: `upfront:${name}`,
    points,
    duration,
    insuranceLimiter,
    rejectIfRedisNotReady: true,
  })
}

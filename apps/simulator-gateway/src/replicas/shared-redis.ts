import { Inject, Injectable } from '@nestjs/common'
import { LOGGER, type Logger } from '@upfront/service'
import { Redis } from 'ioredis'
import { Environment } from '../environment/environment.js'
import type { Role } from './lease.js'
import { RedisHealth } from './redis-health.js'
import { RedisRelay } from './redis-relay.js'

/** The Redis, if configured, through which replicas share limits and node announcements. */
@Injectable()
export class SharedRedis {
  readonly redis: Redis | undefined
  readonly health: RedisHealth
  private readonly relays = new Map<string, RedisRelay>()

  constructor({ REDIS_URL: url }: Environment, @Inject(LOGGER) logger: Logger) {
    this.health = new RedisHealth(logger)
    this.redis = url === undefined ? undefined : connectRedis(url, logger)
  }

  /** For `/health/ready`: `local` while Redis is down or does not answer; undefined without Redis. */
  get status(): 'shared' | 'local' | undefined {
    if (this.redis === undefined) return undefined
    return this.redis.status === 'ready' && !this.health.isAlone ? 'shared' : 'local'
  }

  /**
   * The relay of a chain's announcements; undefined without Redis.
   * @param what such as `heads`
   */
  relay(what: string, chainId: () => Promise<bigint>): RedisRelay | undefined {
    if (this.redis === undefined) return undefined
    const relay = new RedisRelay(this.redis, async () => `${await chainId()}:${what}`)
    this.relays.set(what, relay)
    return relay
  }

  /** For `/health/ready`; undefined while `what` is not followed. */
  role(what: string): Role | undefined {
    return this.relays.get(what)?.role
  }

  close(): void {
    // `quit` waits for commands already sent, such as giving up a lease.
    this.redis?.quit().catch(() => this.redis?.disconnect())
  }
}

const RETRY_MOST_MS = 2_000
const COMMAND_TIMEOUT_MS = 250

/** A connection to Redis or Valkey that reconnects on its own. While it is down, commands fail at once and nothing waits. */
export function connectRedis(url: string, logger: Logger): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: RETRY_MOST_MS,
    retryStrategy: (attempt) => Math.min(100 * attempt, RETRY_MOST_MS),
  })
  let isGone = false
  redis.on('error', () => {
    if (!isGone) logger.warn("Redis can't be reached: this replica counts limits and follows the chain on its own")
    isGone = true
  })
  redis.on('ready', () => {
    logger.info('Redis is connected: replicas share limits and the announcements of nodes')
    isGone = false
  })
  return redis
}

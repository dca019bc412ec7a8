import { Inject, Injectable } from '@nestjs/common'
import { LOGGER, type Logger } from '@upfront/service'
import { Redis } from 'ioredis'
import { Environment } from '../environment/environment.js'
import type { Role } from './lease.js'
import { RedisHealth } from './redis-health.js'
import { RedisRelay } from './redis-relay.js'

/** The Redis through which replicas share limits and what nodes announce, where there is one. */
@Injectable()
export class SharedRedis {
  readonly redis: Redis | undefined
  readonly health: RedisHealth
  private readonly relays = new Map<string, RedisRelay>()

  constructor({ REDIS_URL: url }: Environment, @Inject(LOGGER) logger: Logger) {
    this.health = new RedisHealth(logger)
    this.redis = url === undefined ? undefined : connectRedis(url, logger)
  }

  /** For `/health/ready`: `local` while Redis can't be reached or does not answer; absent without one. */
  get status(): 'shared' | 'local' | undefined {
    if (this.redis === undefined) return undefined
    return this.redis.status === 'ready' && !this.health.isAlone ? 'shared' : 'local'
  }

  /**
   * The relay of what nodes announce of a chain; undefined where there is no Redis.
   * @param what such as `heads`
   */
  relay(what: string, chainId: () => Promise<bigint>): RedisRelay | undefined {
    if (this.redis === undefined) return undefined
    const relay = new RedisRelay(this.redis, async () => `${await chainId()}:${what}`)
    this.relays.set(what, relay)
    return relay
  }

  /** For `/health/ready`; absent while that is not followed. */
  role(what: string): Role | undefined {
    return this.relays.get(what)?.role
  }

  close(): void {
    // Behind what was sent last, such as giving up a lease.
    this.redis?.quit().catch(() => this.redis?.disconnect())
  }
}

const RETRY_MOST_MS = 2_000
const COMMAND_TIMEOUT_MS = 250

/** A connection to Redis or Valkey that comes back by itself, and fails at once while it is gone: nobody waits for it. */
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
    if (!isGone) logger.warn('Redis can not be reached: this replica counts limits and follows the chain by itself')
    isGone = true
  })
  redis.on('ready', () => {
    logger.info('Redis is reached: replicas share limits and what nodes announce')
    isGone = false
  })
  return redis
}

import { Inject, Injectable } from '@nestjs/common'
import { LOGGER, type Logger } from '@upfront/service'
import type { Redis } from 'ioredis'
import { Environment } from '../environment/environment.js'
import { connectRedis } from './connect-redis.js'
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

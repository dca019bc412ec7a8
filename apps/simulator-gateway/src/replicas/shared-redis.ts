import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common'
import { LOGGER, type Logger } from '@upfront/service'
import type { Redis } from 'ioredis'
import { Environment } from '../environment/environment.js'
import { connectRedis } from './connect-redis.js'
import { RedisHealth } from './redis-health.js'

/** The Redis through which replicas share limits and what nodes announce, where there is one. */
@Injectable()
export class SharedRedis implements OnApplicationShutdown {
  readonly redis: Redis | undefined
  readonly health: RedisHealth

  constructor({ REDIS_URL: url }: Environment, @Inject(LOGGER) logger: Logger) {
    this.health = new RedisHealth(logger)
    this.redis = url === undefined ? undefined : connectRedis(url, logger)
  }

  /** For `/health/ready`: `local` while Redis can't be reached or does not answer; absent without one. */
  get status(): 'shared' | 'local' | undefined {
    if (this.redis === undefined) return undefined
    return this.redis.status === 'ready' && !this.health.isAlone ? 'shared' : 'local'
  }

  onApplicationShutdown(): void {
    // Behind what was sent last, such as giving up a lease.
    this.redis?.quit().catch(() => this.redis?.disconnect())
  }
}

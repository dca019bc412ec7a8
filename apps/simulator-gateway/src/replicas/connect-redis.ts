import type { Logger } from '@upfront/service'
import { Redis } from 'ioredis'

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

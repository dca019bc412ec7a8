import { RedisRelay } from '../replicas/redis-relay.js'
import type { SharedRedis } from '../replicas/shared-redis.js'
import type { ServedChain } from './served-chain.js'

const RULES_TIMEOUT_MS = 5_000

/**
 * The relay of what nodes announce of the served chain; undefined where there is no Redis.
 * @param what such as `heads`
 */
export function relayOver({ redis }: SharedRedis, served: ServedChain, what: string): RedisRelay | undefined {
  if (redis === undefined) return undefined
  const name = async () => {
    const { chainId } = await served.rules({ signal: AbortSignal.timeout(RULES_TIMEOUT_MS) })
    return `${chainId}:${what}`
  }
  return new RedisRelay(redis, name)
}

import { ErrorCode, RpcError } from '@upfront/protocol'
import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** HTTP 429: the client has used up its requests of this second. */
export class RateLimited extends RpcError {
  constructor(
    limit: number,
    readonly retryAfterSeconds: number,
  ) {
    super(ErrorCode.limitExceeded, `more than ${limit} requests in a second`, undefined, 429)
  }
}

/** `FREE_RATE_LIMIT`: calls per second and client at `POST /`. An IPv6 client is its /64, which one host has to itself. */
export class FreeRateLimit {
  private readonly limiter: RateLimiterMemory | undefined

  /** @param callsPerSecond 0 is no limit */
  constructor(private readonly callsPerSecond: number) {
    if (callsPerSecond > 0) this.limiter = new RateLimiterMemory({ points: callsPerSecond, duration: 1 })
  }

  /** @throws RateLimited */
  async take(ip: string): Promise<void> {
    try {
      await this.limiter?.consume(clientOf(ip))
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      throw new RateLimited(this.callsPerSecond, Math.max(1, Math.ceil(refused.msBeforeNext / 1000)))
    }
  }

  /** Counts the other entries of a batch that has been let in. */
  async takeMore(ip: string, calls: number): Promise<void> {
    await this.limiter?.penalty(clientOf(ip), calls)
  }
}

function clientOf(ip: string): string {
  const address = ipaddr.process(ip)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}

import { ErrorCode, RpcError } from '@upfront/protocol'
import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { ClientGone } from './request-lifetime.js'

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

  /**
   * @param ip as the socket or a trusted proxy names the client; undefined once the connection has been reset
   * @throws RateLimited, or ClientGone where there is no address any more
   */
  async take(ip: string | undefined): Promise<void> {
    if (ip === undefined) throw new ClientGone()
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

/** What a proxy names may hold a port, or be no address at all (`unknown`, RFC 7239): all such clients are one. */
function clientOf(ip: string): string {
  const text = ip.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  if (!ipaddr.isValid(text)) return 'unknown'
  const address = ipaddr.process(text)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}

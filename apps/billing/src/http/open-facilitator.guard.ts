import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Environment } from '../environment/environment.js'
import { BillingError } from '../payments/billing-error.js'

/** Lets strangers in where `OPEN_FACILITATOR` is on, each client so many times a minute. */
@Injectable()
export class OpenFacilitatorGuard implements CanActivate {
  private readonly limiter: RateLimiterMemory

  constructor(private readonly environment: Environment) {
    this.limiter = new RateLimiterMemory({ points: environment.OPEN_FACILITATOR_PER_MINUTE, duration: 60 })
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.environment.OPEN_FACILITATOR !== 'on') {
      throw new BillingError('forbidden', 'this facilitator serves its own sellers only (OPEN_FACILITATOR is off)')
    }
    const http = context.switchToHttp()
    try {
      await this.limiter.consume(clientOf(http.getRequest<FastifyRequest>().ip))
      return true
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      const seconds = Math.max(1, Math.ceil(refused.msBeforeNext / 1_000))
      void http.getResponse<FastifyReply>().header('retry-after', String(seconds))
      const limit = this.environment.OPEN_FACILITATOR_PER_MINUTE
      throw new BillingError('rate_limited', `more than ${limit} calls in a minute`)
    }
  }
}

/** An IPv6 client is its /64, which one host has to itself. */
function clientOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return 'unknown'
  const address = ipaddr.process(ip)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}

import { createHash, timingSafeEqual } from 'node:crypto'
import { type CanActivate, createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Environment } from '../environment/environment.js'
import { Ledger } from '../ledger/ledger.js'
import type { SellerAccount } from '../ledger/schema.js'
import { BillingError } from '../payments/billing-error.js'
import { findSeller } from '../sellers/seller-accounts.js'

/** Marks endpoints that `BILLING_READ_TOKEN` may use. */
export const OpenToReadToken = Reflector.createDecorator<void, true>({ transform: () => true })
/** Marks endpoints that a seller's token may use, limited to the seller's own data. */
export const OpenToSellers = Reflector.createDecorator<void, true>({ transform: () => true })

const sellers = new WeakMap<FastifyRequest, SellerAccount>()

/** Handler parameter: the account of the calling seller; `null` for the service token and the read token. */
export const CallingSeller = createParamDecorator((_data: unknown, context): SellerAccount | null => {
  return sellers.get(context.switchToHttp().getRequest<FastifyRequest>()) ?? null
})

/**
 * Admits `Authorization: Bearer <BILLING_TOKEN>` everywhere, `BILLING_READ_TOKEN` on endpoints marked {@link OpenToReadToken}, and a
 * seller's token (in the header or as `token` in the path) on endpoints marked {@link OpenToSellers}, up to the account's calls per minute.
 */
@Injectable()
export class ServiceTokenGuard implements CanActivate {
  private readonly service: Buffer
  private readonly read: Buffer | undefined
  /** By account. */
  private readonly limiters = new Map<string, RateLimiterMemory>()

  constructor(
    { BILLING_TOKEN, BILLING_READ_TOKEN }: Environment,
    private readonly reflector: Reflector,
    private readonly ledger: Ledger,
  ) {
    this.service = digestOf(BILLING_TOKEN)
    this.read = BILLING_READ_TOKEN === undefined ? undefined : digestOf(BILLING_READ_TOKEN)
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp()
    const request = http.getRequest<FastifyRequest>()
    if (hasToken(request, this.service)) return true
    if (this.read !== undefined && hasToken(request, this.read)) {
      if (this.isMarked(OpenToReadToken, context)) return true
      throw new BillingError('forbidden', 'this token may only read the seller’s view')
    }
    const token = tokenOf(request)
    const account = token === '' ? null : await findSeller(this.ledger.db, token)
    if (account === null) throw new BillingError('unauthorized', 'a valid token is required: Authorization: Bearer …')
    if (!this.isMarked(OpenToSellers, context))
      throw new BillingError('forbidden', 'a seller account’s token does not allow this')
    await this.take(account, http.getResponse<FastifyReply>())
    sellers.set(request, account)
    return true
  }

  private isMarked(mark: typeof OpenToSellers, context: ExecutionContext): boolean {
    return this.reflector.getAllAndOverride(mark, [context.getHandler(), context.getClass()]) ?? false
  }

  private async take({ id, perMinute }: SellerAccount, reply: FastifyReply): Promise<void> {
    const known = this.limiters.get(id)
    const limiter = known?.points === perMinute ? known : new RateLimiterMemory({ points: perMinute, duration: 60 })
    this.limiters.set(id, limiter)
    try {
      await limiter.consume(id)
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      void reply.header('retry-after', String(Math.max(1, Math.ceil(refused.msBeforeNext / 1_000))))
      throw new BillingError('rate_limited', `more than ${perMinute} calls in a minute`)
    }
  }
}

function tokenOf({ headers, params }: FastifyRequest): string {
  const { token } = (params ?? {}) as { token?: unknown }
  if (typeof token === 'string') return token
  return /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
}

export function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Whether the request shows the token with this digest. Digests have equal length, so the comparison takes constant time. */
export function hasToken(request: FastifyRequest, digest: Buffer): boolean {
  return timingSafeEqual(digestOf(tokenOf(request)), digest)
}

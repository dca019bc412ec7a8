import { createHash, timingSafeEqual } from 'node:crypto'
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { FastifyRequest } from 'fastify'
import { Environment } from '../environment/environment.js'
import { BillingError } from '../payments/billing-error.js'

/** Marks what `BILLING_READ_TOKEN` opens too. */
export const OpenToReadToken = Reflector.createDecorator<void, true>({ transform: () => true })

/**
 * Lets in who carries `Authorization: Bearer <BILLING_TOKEN>`, and with `BILLING_READ_TOKEN` who only reads what is marked with
 * {@link OpenToReadToken}.
 */
@Injectable()
export class ServiceTokenGuard implements CanActivate {
  private readonly service: Buffer
  private readonly read: Buffer | undefined

  constructor(
    { BILLING_TOKEN, BILLING_READ_TOKEN }: Environment,
    private readonly reflector: Reflector,
  ) {
    this.service = digest(`Bearer ${BILLING_TOKEN}`)
    this.read = BILLING_READ_TOKEN === undefined ? undefined : digest(`Bearer ${BILLING_READ_TOKEN}`)
  }

  canActivate(context: ExecutionContext): boolean {
    const given = digest(context.switchToHttp().getRequest<FastifyRequest>().headers.authorization ?? '')
    // Digests have one length: the comparison takes the same time for every guess.
    if (timingSafeEqual(given, this.service)) return true
    if (this.read === undefined || !timingSafeEqual(given, this.read))
      throw new BillingError('unauthorized', 'a service token is needed: Authorization: Bearer …')
    if (this.reflector.getAllAndOverride(OpenToReadToken, [context.getHandler(), context.getClass()])) return true
    throw new BillingError('forbidden', 'this token may only read the seller’s view')
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

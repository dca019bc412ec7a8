import { createHash, timingSafeEqual } from 'node:crypto'
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { Environment } from '../environment/environment.js'
import { BillingError } from '../payments/billing-error.js'

/** Lets in who carries `Authorization: Bearer <BILLING_TOKEN>`. */
@Injectable()
export class ServiceTokenGuard implements CanActivate {
  private readonly expected: Buffer

  constructor(environment: Environment) {
    this.expected = digest(`Bearer ${environment.BILLING_TOKEN}`)
  }

  canActivate(context: ExecutionContext): boolean {
    const given = context.switchToHttp().getRequest<FastifyRequest>().headers.authorization ?? ''
    // Digests have one length: the comparison takes the same time for every guess.
    if (timingSafeEqual(digest(given), this.expected)) return true
    throw new BillingError('unauthorized', 'a service token is needed: Authorization: Bearer …')
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

import { createHash, timingSafeEqual } from 'node:crypto'
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { BillingError } from './billing-error.js'

/** Nest's token for `BILLING_TOKEN`. */
export const SERVICE_TOKEN = Symbol('service token')

/** Lets in who carries `Authorization: Bearer <BILLING_TOKEN>`. */
@Injectable()
export class ServiceTokenGuard implements CanActivate {
  readonly #expected: Buffer

  constructor(@Inject(SERVICE_TOKEN) token: string) {
    this.#expected = digest(`Bearer ${token}`)
  }

  canActivate(context: ExecutionContext): boolean {
    const given = context.switchToHttp().getRequest<FastifyRequest>().headers.authorization ?? ''
    // Digests have one length: the comparison takes the same time for every guess.
    if (timingSafeEqual(digest(given), this.#expected)) return true
    throw new BillingError('unauthorized', 'a service token is needed: Authorization: Bearer …')
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

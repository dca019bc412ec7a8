import { createParamDecorator } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import type { SellerAccount } from '../ledger/schema.js'

const sellers = new WeakMap<FastifyRequest, SellerAccount>()

export function rememberSeller(request: FastifyRequest, account: SellerAccount): void {
  sellers.set(request, account)
}

/** Handler parameter: the account of the seller that calls; `null` where the service token, or the read token, was shown. */
export const CallingSeller = createParamDecorator((_data: unknown, context): SellerAccount | null => {
  return sellers.get(context.switchToHttp().getRequest<FastifyRequest>()) ?? null
})

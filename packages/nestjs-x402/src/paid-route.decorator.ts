import { applyDecorators, SetMetadata, UseGuards } from '@nestjs/common'
import { PAID_ROUTE } from './paid-route-metadata.js'
import type { PaidRouteOptions } from './paid-route-options.js'
import { PaymentGuard } from './payment.guard.js'

/**
 * Makes a handler a paid route, whatever path leads to it. It brings its guard along: without `PaidRoutesModule` the app
 * does not start.
 */
export function PaidRoute(options: PaidRouteOptions): MethodDecorator {
  return applyDecorators(SetMetadata(PAID_ROUTE, options), UseGuards(PaymentGuard))
}

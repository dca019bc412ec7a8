export type { ChargeReason } from './charge.js'
export type { ChargePolicy, ChargeRule } from './charge-policy.js'
export {
  type AssetDescription,
  type DurableFacilitatorClient,
  SETTLEMENT_PENDING,
  type SettleTerms,
  type VerifyTerms,
} from './facilitator.js'
export { PaidRequest } from './paid-request.js'
export { PaidRoute } from './paid-route.decorator.js'
export type { PaidRouteOptions, PaymentOption } from './paid-route-options.js'
export { PaidRoutesModule } from './paid-routes.module.js'
export {
  type PaidRoutesAsyncOptions,
  PaidRoutesConfigurationError,
  type PaidRoutesOptions,
  type PaymentRecord,
} from './paid-routes-options.js'
export { Payment, Settlement } from './settlement.js'

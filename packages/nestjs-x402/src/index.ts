export { PaidRequest } from './charge/paid-request.js'
export { Payment, Settlement } from './charge/settlement.js'
export { PaidRoute } from './paid-route.decorator.js'
export { PaidRoutesModule } from './paid-routes.module.js'
export { PaymentGuard } from './payment.guard.js'
export type { ChargePolicy, ChargeReason, ChargeRule } from './routes/charge-policy.js'
export {
  type AssetDescription,
  type DurableFacilitatorClient,
  SETTLEMENT_DOUBTFUL,
  SETTLEMENT_PENDING,
  type SettleTerms,
  type VerifyTerms,
} from './routes/durable-facilitator.js'
export type { OfferExtension, PaidRouteOptions, PaymentOption } from './routes/paid-route-options.js'
export {
  type Delivery,
  FACILITATOR_CLIENT,
  type PaidRoutesAsyncOptions,
  PaidRoutesConfigurationError,
  type PaidRoutesOptions,
  type PaymentRecord,
} from './routes/paid-routes-options.js'
export { type PriceList, priceListHash } from './routes/price-list.js'

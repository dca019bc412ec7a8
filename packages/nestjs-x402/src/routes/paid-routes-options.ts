import type { InjectionToken, ModuleMetadata, OptionalFactoryDependency } from '@nestjs/common'
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentRequirements } from '@x402/core/types'
import type { ChargeReason } from './charge-policy.js'
import type { DurableFacilitatorClient } from './durable-facilitator.js'
import type { OfferExtension, PaidRouteOptions } from './paid-route-options.js'

export interface PaidRoutesOptions {
  /** Verifies and settles: any x402 facilitator, or a durable one (see {@link DurableFacilitatorClient}). */
  facilitator: FacilitatorClient | DurableFacilitatorClient
  /**
   * Options by `<METHOD> <path>`. The path is as served (with global prefix and version) or as written in the controllers; parameters as in
   * Nest (`/reports/:id`). Routes marked with `@PaidRoute` need no entry.
   */
  routes?: Record<string, PaidRouteOptions>
  /**
   * How long and how many paid answers can be fetched again with the same payment: those whose client left before it got them, those
   * requested with x402's `payment-identifier`, and those withheld until their payment settles. Kept in memory for `seconds` (300; 0 keeps
   * none), at most `bytes` (64 MiB). Lost and withheld answers are also stored by a facilitator with `keepAnswer`, for the other processes.
   */
  answers?: { seconds?: number; bytes?: number }
  /**
   * Extensions added to each offer, by name, in addition to those of its route, and made for each offer, such as signed offers. If it
   * rejects, the offer is sent without them.
   */
  offerExtensions?: (offer: OfferContext) => Promise<Record<string, OfferExtension>>
  /**
   * Extensions added to PAYMENT-RESPONSE, by name, for a request that was served and whose payment has settled, such as a signed delivery
   * receipt. If it rejects, the answer is sent without them.
   */
  responseExtensions?: (delivery: Delivery) => Promise<Record<string, unknown>>
  /** Called once per paid request, after its charge is decided and stored, or its storage is unknown. */
  onPayment?: (record: PaymentRecord) => void
}

/** A 402 that is about to be sent. */
export interface OfferContext {
  /** The route, as named in `routes`. */
  route: string
  resourceUrl: string
  accepts: readonly PaymentRequirements[]
}

/** A request that was served and paid. */
export interface Delivery {
  resourceUrl: string
  payer: string
  network: string
  transaction: string
}

export interface PaidRoutesAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  inject?: (InjectionToken | OptionalFactoryDependency)[]
  useFactory: (...dependencies: never[]) => PaidRoutesOptions | Promise<PaidRoutesOptions>
}

/** The outcome of one paid request, for metrics and logs. Contains no signature. */
export interface PaymentRecord {
  route: string
  payer: string
  network: string
  asset: string
  /** In the asset's smallest unit. */
  amount: bigint
  /** In the asset's smallest unit. */
  maximum: bigint
  reason: ChargeReason
  outcome: 'settled' | 'pending' | 'doubtful' | 'nothing' | 'failed'
  /** Why it failed. */
  failure?: string
  transaction?: string
  /** HTTP status of the answer. */
  status: number
}

/** Injection token of the app's facilitator. Tests override it with a `FakeFacilitator`. */
export const FACILITATOR_CLIENT = Symbol('FACILITATOR_CLIENT')

export const PAID_ROUTES_OPTIONS = Symbol('PAID_ROUTES_OPTIONS')

/** The configuration of the app's paid routes is invalid. Lists every faulty route and field. */
export class PaidRoutesConfigurationError extends Error {
  override readonly name = 'PaidRoutesConfigurationError'
  constructor(readonly faults: readonly string[]) {
    super(`paid routes are misconfigured:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
  }
}

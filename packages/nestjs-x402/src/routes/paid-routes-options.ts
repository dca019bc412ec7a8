import type { InjectionToken, ModuleMetadata, OptionalFactoryDependency } from '@nestjs/common'
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentRequirements } from '@x402/core/types'
import type { ChargeReason } from './charge-policy.js'
import type { DurableFacilitatorClient } from './durable-facilitator.js'
import type { OfferExtension, PaidRouteOptions } from './paid-route-options.js'

export interface PaidRoutesOptions {
  /** Who verifies and settles: any x402 facilitator, or one that remembers (see {@link DurableFacilitatorClient}). */
  facilitator: FacilitatorClient | DurableFacilitatorClient
  /**
   * By `<METHOD> <path>`: the path as it is served (global prefix and version included), or as the controllers write it;
   * parameters as in Nest (`/reports/:id`). Routes marked with `@PaidRoute` need no entry.
   */
  routes?: Record<string, PaidRouteOptions>
  /**
   * Paid answers that can be fetched again with the same payment: those whose client left before it got them, those asked for with
   * x402's `payment-identifier`, and those that were withheld until their payment is settled. In this process's memory, for `seconds` (300; 0 keeps none), in at most
   * `bytes` (64 MiB); what is withheld also where the facilitator keeps it (`keepAnswer`), for the other processes.
   */
  answers?: { seconds?: number; bytes?: number }
  /**
   * Extensions that each offer carries beside those of its route, made anew for it, such as offers that the seller has signed, by their names.
   * Where it rejects, the offer goes out without.
   */
  offerExtensions?: (offer: MadeOffer) => Promise<Record<string, OfferExtension>>
  /**
   * What PAYMENT-RESPONSE says beyond x402's own fields of a request that was served and whose payment has settled, such as a
   * signed receipt of delivery, by the extensions' names. Where it rejects, the answer goes out without.
   */
  responseExtensions?: (delivery: Delivery) => Promise<Record<string, unknown>>
  /** Called once for each request that was paid for, after its charge is decided and stored, or is not known to be. */
  onPayment?: (record: PaymentRecord) => void
}

/** A 402 that is about to be answered. */
export interface MadeOffer {
  /** Of the route, as `routes` names it. */
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

/** What became of one paid request, for metrics and logs. Holds no signature. */
export interface PaymentRecord {
  route: string
  payer: string
  network: string
  asset: string
  /** Smallest units. */
  amount: bigint
  /** Smallest units. */
  maximum: bigint
  reason: ChargeReason
  outcome: 'settled' | 'pending' | 'doubtful' | 'nothing' | 'failed'
  /** Why it failed. */
  failure?: string
  transaction?: string
  /** Of the answer. */
  status: number
}

/** Injection token of the app's facilitator: tests override it with a `FakeFacilitator`. */
export const FACILITATOR_CLIENT = Symbol('FACILITATOR_CLIENT')

export const PAID_ROUTES_OPTIONS = Symbol('PAID_ROUTES_OPTIONS')

/** The app's paid routes are not what they have to be. Names every route and field at once. */
export class PaidRoutesConfigurationError extends Error {
  override readonly name = 'PaidRoutesConfigurationError'
  constructor(readonly faults: readonly string[]) {
    super(`paid routes are misconfigured:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
  }
}

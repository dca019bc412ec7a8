import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'

/** What a facilitator is told in addition to x402's own arguments. */
export interface VerifyTerms {
  /** `<METHOD> <path>`, as configured. */
  route: string
  /** How long the handler may run, in seconds. The authorization must outlast it. */
  handlerSeconds: number
}

export interface SettleTerms {
  /** Why this amount: `usage`, `price`, `unset`, `failure`, `timeout`, `partial` or `invalid`. */
  reason: string
}

export interface AssetDescription {
  decimals: number
  /** Name in the token's EIP-712 domain. */
  name?: string
  version?: string
}

/**
 * A facilitator with memory. Its `verify` also reserves: an authorization serves one request, permanently and across replicas, and a
 * payer's open authorizations never exceed its balance. With a plain `FacilitatorClient`, only this process ensures single use, and no
 * balance is reserved.
 *
 * If it knows the payment's identifier (x402's `payment-identifier`) from another payment, `verify` refuses with
 * `payment_identifier_taken`, and the buyer gets 409. This process tells only the identifiers of its own requests.
 *
 * If `verify` rejects, nothing was verified and the authorization must stay usable; the buyer gets a 503, with the error's
 * `retryAfterSeconds` (or 2) as Retry-After. If `settle` rejects or answers `settlement_pending`, the payment may still be charged, so the
 * client must keep retrying; the route's `onPending` decides whether the buyer gets its answer. For `settlement_doubtful`, a payment that
 * probably can't be settled, the answer is always withheld. To decide on a withheld answer, `settle` is called again with the same
 * arguments: it charges nothing more and returns the current outcome.
 */
export interface DurableFacilitatorClient extends FacilitatorClient {
  verify(payload: PaymentPayload, requirements: PaymentRequirements, terms?: VerifyTerms): Promise<VerifyResponse>
  settle(payload: PaymentPayload, requirements: PaymentRequirements, terms?: SettleTerms): Promise<SettleResponse>
  /** Cancels a verified payment: nothing is charged. The client retries failures itself. */
  release(payload: PaymentPayload, requirements: PaymentRequirements, reason: string): Promise<void>
  /**
   * Stores a withheld or lost answer for at least `seconds`, for all processes of the seller. Returns false if it can't be stored. Without
   * this method, such answers are kept in the memory of one process.
   */
  keepAnswer?(payload: PaymentPayload, answer: string, seconds: number): Promise<boolean>
  /** Returns the answer that `keepAnswer` stored for this authorization. */
  findAnswer?(payload: PaymentPayload): Promise<string | undefined>
  /** Called once at start. Rejects if no payment can be taken: the facilitator can't be reached or refuses our credentials. */
  check?(): Promise<void>
  /** Used for a warning at start if `onPending: 'deliver'` would deliver most answers unpaid. Both in seconds. */
  settlementTimes?(network: string): Promise<{ blockSeconds: number; waitSeconds: number } | undefined>
  /** Used for options that give an asset only by its address. Returns undefined if the asset is not settled. */
  describeAsset?(network: string, asset: string): Promise<AssetDescription | undefined>
}

export function isDurable(client: FacilitatorClient): client is DurableFacilitatorClient {
  return 'release' in client && typeof client.release === 'function'
}

/** x402's reason for a charge that is, or may be, stored but is not on chain yet. */
export const SETTLEMENT_PENDING = 'settlement_pending'

/** A stored charge that, by the newest block, can't be settled. */
export const SETTLEMENT_DOUBTFUL = 'settlement_doubtful'

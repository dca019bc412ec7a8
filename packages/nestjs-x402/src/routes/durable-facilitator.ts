import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'

/** What a facilitator may want to know beside x402's own arguments. */
export interface VerifyTerms {
  /** `<METHOD> <path>`, as configured. */
  route: string
  /** How long the handler may run, in seconds: the authorization must outlast it. */
  handlerSeconds: number
}

export interface SettleTerms {
  /** Why this amount: `usage`, `unset`, `failure`, `timeout`, `partial` or `invalid`. */
  reason: string
}

export interface AssetDescription {
  decimals: number
  /** Of its EIP-712 domain. */
  name?: string
  version?: string
}

/**
 * A facilitator that remembers: its `verify` also reserves, so that an authorization serves one request, for ever and
 * across replicas, and a payer's open authorizations never exceed its balance. Any plain `FacilitatorClient` works
 * too; then only this process ensures single use, and no balance is reserved.
 *
 * Where `verify` rejects, nothing was verified, and the authorization has to stay usable; the buyer gets 503 and, where
 * the error has `retryAfterSeconds`, that as Retry-After. Where `settle` rejects or answers `settlement_pending`, the
 * payment may be charged, so the client has to go on by itself; the route's `onPending` decides whether the buyer gets its answer. For
 * `settlement_doubtful`, a payment that looks as if it could not be settled, it never does. A withheld answer is decided by calling
 * `settle` again with the same arguments, which charges nothing more and answers what became of the payment.
 */
export interface DurableFacilitatorClient extends FacilitatorClient {
  verify(payload: PaymentPayload, requirements: PaymentRequirements, terms?: VerifyTerms): Promise<VerifyResponse>
  settle(payload: PaymentPayload, requirements: PaymentRequirements, terms?: SettleTerms): Promise<SettleResponse>
  /** Gives up a verified payment: nothing is charged. Repeats by itself what fails. */
  release(payload: PaymentPayload, requirements: PaymentRequirements, reason: string): Promise<void>
  /**
   * Keeps an answer that is withheld, for so many seconds at least, where all processes of the seller find it. False where it can't. Absent:
   * such answers are in the memory of one process.
   */
  keepAnswer?(payload: PaymentPayload, answer: string, seconds: number): Promise<boolean>
  /** What `keepAnswer` has kept for this authorization. */
  findAnswer?(payload: PaymentPayload): Promise<string | undefined>
  /** Asked once at start. Rejects where no payment can be taken: it can't be reached, or refuses our credentials. */
  check?(): Promise<void>
  /** For a warning at start where `onPending: 'deliver'` would deliver most answers unpaid. */
  settlementTimes?(network: string): Promise<{ blockSeconds: number; waitSeconds: number } | undefined>
  /** For options that name an asset by its address alone; undefined where it is not settled. */
  describeAsset?(network: string, asset: string): Promise<AssetDescription | undefined>
}

export function isDurable(client: FacilitatorClient): client is DurableFacilitatorClient {
  return 'release' in client && typeof client.release === 'function'
}

/** x402's word for a charge that is stored, or may be, and not yet on chain. */
export const SETTLEMENT_PENDING = 'settlement_pending'

/** A charge that is stored, and that could not be settled as of the newest block. */
export const SETTLEMENT_DOUBTFUL = 'settlement_doubtful'

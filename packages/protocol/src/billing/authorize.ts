import {
  decodeAddressField,
  decodeInteger,
  decodeNullable,
  decodeObject,
  decodeOneOf,
  decodeString,
  type JsonObject,
  refuseUnknownFields,
} from '../decode/fields.js'
import type { Address } from '../hex.js'
import { decodePayment, encodePayment, type Payment } from './payment.js'
import type { Refusal } from './reasons.js'

/**
 * Least time that billing requires between a charge and the deadline, added to `minimumValiditySeconds`. With a longer block interval it is
 * that interval plus two seconds, at most {@link MAX_SETTLEMENT_SECONDS}.
 */
export const SETTLEMENT_MARGIN_SECONDS = 6

/** Largest margin (Ethereum). A seller's `maxTimeoutSeconds` must exceed its handler's timeout + this + the buyer's own delay. */
export const MAX_SETTLEMENT_SECONDS = 14

/** How much later than the offer's `maxTimeoutSeconds` a deadline may be: clocks differ, and signing an offer takes time. */
export const DEADLINE_SLACK_SECONDS = 60

/** How long an `exact` authorization may always be valid, even if the offer allows less: x402's Go client signs an hour. */
export const EXACT_VALIDITY_SECONDS = 3_600

/** Verifies and reserves in one step. Holds the x402 objects as the buyer sent them and as the seller offered them. */
export interface AuthorizeRequest {
  paymentPayload: unknown
  /** `amount` is the maximum. */
  paymentRequirements: unknown
  /**
   * `<METHOD> <path>`, for the seller's totals. If set, the payload's `resource` and `bazaar` extension were replaced by the seller's own,
   * not repeated by the buyer, and the route is listed with them.
   */
  route: string | null
  /** How long the handler may take. The deadline must be at least this + billing's margin away: see {@link SETTLEMENT_MARGIN_SECONDS}. */
  minimumValiditySeconds: number
}

export type AuthorizeResult = { outcome: 'authorized'; payment: Payment } | (Refusal & { payer: Address | null })

/** A bad payload is the buyer's fault and gives a refusal. @throws DecodeError for the envelope only */
export function decodeAuthorizeRequest(value: unknown): AuthorizeRequest {
  const object = decodeObject(value, 'body')
  refuseUnknownFields(object, '', ['paymentPayload', 'paymentRequirements', 'route', 'minimumValiditySeconds'])
  return {
    paymentPayload: object.paymentPayload,
    paymentRequirements: decodeObject(object.paymentRequirements, 'paymentRequirements'),
    route: decodeNullable(object.route, 'route', (route, field) => decodeString(route, field, 512)),
    minimumValiditySeconds:
      object.minimumValiditySeconds === undefined
        ? 0
        : decodeInteger(object.minimumValiditySeconds, 'minimumValiditySeconds', 0, 86_400),
  }
}

export function encodeAuthorizeResult(result: AuthorizeResult): JsonObject {
  return result.outcome === 'authorized' ? { ...result, payment: encodePayment(result.payment) } : { ...result }
}

/** @throws DecodeError */
export function decodeAuthorizeResult(value: unknown): AuthorizeResult {
  const object = decodeObject(value, 'body')
  if (decodeOneOf(object.outcome, 'outcome', ['authorized', 'refused']) === 'authorized')
    return { outcome: 'authorized', payment: decodePayment(object.payment) }
  return {
    outcome: 'refused',
    reason: decodeString(object.reason, 'reason'),
    message: decodeString(object.message, 'message'),
    payer: decodeNullable(object.payer, 'payer', decodeAddressField),
  }
}

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
 * What billing adds to `minimumValiditySeconds` at least: the time that it asks for between a charge and the deadline. Where blocks are further
 * apart than that it is their distance and two seconds, at most {@link LONGEST_SETTLEMENT_SECONDS}.
 */
export const SETTLEMENT_MARGIN_SECONDS = 6

/** The same at most: Ethereum's. A seller offers a `maxTimeoutSeconds` above its handler's time-out + this + the buyer's own delay. */
export const LONGEST_SETTLEMENT_SECONDS = 14

/** How much further than the offer's `maxTimeoutSeconds` a deadline may be away: clocks differ, and offers take a while to be signed. */
export const DEADLINE_SLACK_SECONDS = 60

/** What an authorization of `exact` may be valid for whatever the offer says: x402's Go client signs an hour. */
export const EXACT_VALIDITY_SECONDS = 3_600

/** Verify and reserve in one step. The x402 objects go as the buyer sent them and as the seller offered them. */
export interface AuthorizeRequest {
  paymentPayload: unknown
  /** `amount` is the maximum. */
  paymentRequirements: unknown
  /**
   * `<METHOD> <path>`, for the seller's totals. With it `resource` and the extension `bazaar` of the payload are the seller's own words,
   * not what the buyer repeated of them: the route is listed by them.
   */
  route: string | null
  /** How long the handler may take: the deadline must be at least this + {@link SETTLEMENT_MARGIN_SECONDS} away. */
  minimumValiditySeconds: number
}

export type AuthorizeResult = { outcome: 'authorized'; payment: Payment } | (Refusal & { payer: Address | null })

/** Throws {@link DecodeError} for the envelope only: a bad payload is the buyer's, and is refused as a value. */
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

/** Throws {@link DecodeError}. */
export function decodeAuthorizeResult(value: unknown): AuthorizeResult {
  const object = decodeObject(value, 'body')
  if (decodeOneOf(object.outcome, 'outcome', ['authorized', 'refused']) === 'authorized') {
    return { outcome: 'authorized', payment: decodePayment(object.payment) }
  }
  return {
    outcome: 'refused',
    reason: decodeString(object.reason, 'reason'),
    message: decodeString(object.message, 'message'),
    payer: decodeNullable(object.payer, 'payer', decodeAddressField),
  }
}

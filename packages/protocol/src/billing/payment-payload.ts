import { decodeExactPayment, type Eip3009Authorization, type ExactPayment } from './exact-payload.js'
import { decodeUptoPayment, type UptoAuthorization, type UptoPayment } from './upto-payload.js'
import { decodeObject } from './wire-fields.js'

/** What a buyer signed, whichever contract takes it. */
export type SignedAuthorization = UptoAuthorization | Eip3009Authorization

export type AuthorizationKind = SignedAuthorization['kind']

/** Decodes an x402 v2 `PaymentPayload` by the scheme that it accepts. Throws {@link DecodeError}. */
export function decodePaymentPayload(value: unknown, field = 'paymentPayload'): UptoPayment | ExactPayment {
  const accepted = decodeObject(decodeObject(value, field).accepted, `${field}.accepted`)
  return accepted.scheme === 'exact' ? decodeExactPayment(value, field) : decodeUptoPayment(value, field)
}

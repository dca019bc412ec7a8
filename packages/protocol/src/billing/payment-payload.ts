import { decodeObject } from '../decode/fields.js'
import { decodeEip3009Payment, type Eip3009Authorization, type Eip3009Payment } from './eip3009-payload.js'
import { decodePermit2Payment, type Permit2Authorization, type Permit2Payment, type Scheme } from './permit2-payload.js'

/** What a buyer signed, whichever contract takes it. */
export type SignedAuthorization = Permit2Authorization | Eip3009Authorization

export type AuthorizationKind = SignedAuthorization['kind']

export function schemeOf(kind: AuthorizationKind): Scheme {
  return kind === 'upto-permit2' ? 'upto' : 'exact'
}

/** Decodes an x402 v2 `PaymentPayload` by the scheme that it accepts and, of `exact`, by what was signed. Throws {@link DecodeError}. */
export function decodePaymentPayload(value: unknown, field = 'paymentPayload'): Permit2Payment | Eip3009Payment {
  const { accepted, payload } = decodeObject(value, field)
  const { scheme } = decodeObject(accepted, `${field}.accepted`)
  const byPermit2 = scheme !== 'exact' || 'permit2Authorization' in decodeObject(payload, `${field}.payload`)
  return byPermit2 ? decodePermit2Payment(value, field) : decodeEip3009Payment(value, field)
}

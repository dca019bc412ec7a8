import { decodeAddressField, decodeDecimal, decodeHash, decodeObject, refuse } from '../decode/fields.js'
import type { Address, Hex } from '../hex.js'
import { decodeRequirements, decodeSignature, type Requirements } from './permit2-payload.js'

/**
 * What the buyer signed: EIP-3009's `TransferWithAuthorization` of the token, for anybody to send. Amounts in the smallest unit of the
 * token. In the terms of {@link Permit2Authorization}.
 */
export interface Eip3009Authorization {
  kind: 'exact-eip3009'
  payer: Address
  token: Address
  /** Moved as a whole. */
  maximum: bigint
  /** EIP-3009's 32 bytes as a number. */
  nonce: bigint
  /** Seconds since 1970, inclusive: the last second before `validBefore`. */
  deadline: bigint
  payTo: Address
  /** `null` as decoded: the buyer names nobody who settles it. */
  facilitator: Address | null
  /** Seconds since 1970, exclusive. */
  validAfter: bigint
  signature: Hex
}

/** A decoded x402 v2 `PaymentPayload` of scheme `exact` by EIP-3009. */
export interface Eip3009Payment {
  accepted: Requirements
  authorization: Eip3009Authorization
  permit: null
}

/** Strict, as by Permit2: one signed content has one accepted encoding of its numbers. Throws {@link DecodeError}. */
export function decodeEip3009Payment(value: unknown, field = 'paymentPayload'): Eip3009Payment {
  const object = decodeObject(value, field)
  if (object.x402Version !== 2) throw refuse(`${field}.x402Version`, 'must be 2')
  const accepted = decodeRequirements(object.accepted, `${field}.accepted`)
  const payload = decodeObject(object.payload, `${field}.payload`)
  const at = `${field}.payload.authorization`
  const authorization = decodeObject(payload.authorization, at)
  const validBefore = decodeDecimal(authorization.validBefore, `${at}.validBefore`)
  return {
    accepted,
    authorization: {
      kind: 'exact-eip3009',
      payer: decodeAddressField(authorization.from, `${at}.from`),
      token: accepted.asset,
      maximum: decodeDecimal(authorization.value, `${at}.value`),
      nonce: BigInt(decodeHash(authorization.nonce, `${at}.nonce`)),
      deadline: validBefore === 0n ? 0n : validBefore - 1n,
      payTo: decodeAddressField(authorization.to, `${at}.to`),
      facilitator: null,
      validAfter: decodeDecimal(authorization.validAfter, `${at}.validAfter`),
      signature: decodeSignature(payload.signature, `${field}.payload.signature`),
    },
    permit: null,
  }
}

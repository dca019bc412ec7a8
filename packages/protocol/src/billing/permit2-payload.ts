import {
  decodeAddressField,
  decodeDecimal,
  decodeInteger,
  decodeNetwork,
  decodeObject,
  decodeOneOf,
  decodeString,
  type JsonObject,
  type Network,
  refuse,
} from '../decode/fields.js'
import type { Address, Hex } from '../hex.js'

/** x402's schemes that are settled here: up to a signed maximum, or exactly what was signed. */
export const SCHEMES = ['upto', 'exact'] as const
export type Scheme = (typeof SCHEMES)[number]

/** What a seller asks (x402 v2 `PaymentRequirements`). `amount`: smallest unit of `asset`. */
export interface Requirements {
  scheme: Scheme
  network: Network
  asset: Address
  amount: bigint
  payTo: Address
  /** Seconds; 0 where the seller gave none. */
  maxTimeoutSeconds: number
  extra: JsonObject
}

/**
 * What the buyer signed: Permit2's `PermitWitnessTransferFrom` with the witness of the scheme's proxy. Amounts: smallest unit. In these
 * terms whatever the contract, so that a ledger keeps all alike.
 */
export interface Permit2Authorization {
  kind: 'upto-permit2' | 'exact-permit2'
  payer: Address
  token: Address
  /** `exact` moves it as a whole. */
  maximum: bigint
  spender: Address
  nonce: bigint
  /** Seconds since 1970, inclusive. */
  deadline: bigint
  payTo: Address
  /** Who settles it, as signed; `null` as decoded of `exact`, which is for anybody to settle. */
  facilitator: Address | null
  /** Seconds since 1970. */
  validAfter: bigint
  signature: Hex
}

/** An EIP-2612 permit as x402's extension `eip2612GasSponsoring` carries it: it lets `spender` move `amount` of the payer's tokens. */
export interface TokenPermit {
  owner: Address
  token: Address
  spender: Address
  /** Smallest unit. */
  amount: bigint
  /** Seconds since 1970, inclusive. */
  deadline: bigint
  /** 65 bytes: r, s, v. */
  signature: Hex
}

/** A decoded x402 v2 `PaymentPayload` by Permit2. */
export interface Permit2Payment {
  accepted: Requirements
  authorization: Permit2Authorization
  /** `null`: the payer sent none. */
  permit: TokenPermit | null
}

/** x402's extension by which a facilitator settles with a payer's EIP-2612 permit in place of an approval. */
export const GAS_SPONSORING = 'eip2612GasSponsoring'
/** Throws {@link DecodeError}. */
export function decodeRequirements(value: unknown, field: string): Requirements {
  const object = decodeObject(value, field)
  return {
    scheme: decodeOneOf(object.scheme, `${field}.scheme`, SCHEMES),
    network: decodeNetwork(object.network, `${field}.network`),
    asset: decodeAddressField(object.asset, `${field}.asset`),
    amount: decodeDecimal(object.amount, `${field}.amount`),
    payTo: decodeAddressField(object.payTo, `${field}.payTo`),
    maxTimeoutSeconds:
      object.maxTimeoutSeconds === undefined
        ? 0
        : decodeInteger(object.maxTimeoutSeconds, `${field}.maxTimeoutSeconds`, 0, 31_536_000),
    extra: object.extra === undefined || object.extra === null ? {} : decodeObject(object.extra, `${field}.extra`),
  }
}

/**
 * Strict decoder of a `PaymentPayload`: one signed content has one accepted encoding of its numbers.
 * Throws {@link DecodeError}.
 */
export function decodePermit2Payment(value: unknown, field = 'paymentPayload'): Permit2Payment {
  const object = decodeObject(value, field)
  if (object.x402Version !== 2) throw refuse(`${field}.x402Version`, 'must be 2')
  const payload = decodeObject(object.payload, `${field}.payload`)
  const at = `${field}.payload.permit2Authorization`
  const authorization = decodeObject(payload.permit2Authorization, at)
  const permitted = decodeObject(authorization.permitted, `${at}.permitted`)
  const accepted = decodeRequirements(object.accepted, `${field}.accepted`)
  const isUpto = accepted.scheme === 'upto'
  const witness = decodeObject(authorization.witness, `${at}.witness`)
  return {
    accepted,
    authorization: {
      kind: isUpto ? 'upto-permit2' : 'exact-permit2',
      payer: decodeAddressField(authorization.from, `${at}.from`),
      token: decodeAddressField(permitted.token, `${at}.permitted.token`),
      maximum: decodeDecimal(permitted.amount, `${at}.permitted.amount`),
      spender: decodeAddressField(authorization.spender, `${at}.spender`),
      nonce: decodeDecimal(authorization.nonce, `${at}.nonce`),
      deadline: decodeDecimal(authorization.deadline, `${at}.deadline`),
      payTo: decodeAddressField(witness.to, `${at}.witness.to`),
      facilitator: isUpto ? decodeAddressField(witness.facilitator, `${at}.witness.facilitator`) : null,
      validAfter: decodeDecimal(witness.validAfter, `${at}.witness.validAfter`),
      signature: decodeSignature(payload.signature, `${field}.payload.signature`),
    },
    permit: decodePermit(object.extensions, `${field}.extensions`),
  }
}

/** Clients repeat the offer's extensions whether they use them or not: without a signature there is no permit. */
function decodePermit(extensions: unknown, field: string): TokenPermit | null {
  const info = infoOf(extensions, GAS_SPONSORING)
  if (info?.signature === undefined) return null
  const at = `${field}.${GAS_SPONSORING}.info`
  const signature = decodeString(info.signature, `${at}.signature`, 132).toLowerCase()
  if (!/^0x[0-9a-f]{130}$/.test(signature)) throw refuse(`${at}.signature`, 'must be 65 bytes in hex')
  return {
    owner: decodeAddressField(info.from, `${at}.from`),
    token: decodeAddressField(info.asset, `${at}.asset`),
    spender: decodeAddressField(info.spender, `${at}.spender`),
    amount: decodeDecimal(info.amount, `${at}.amount`),
    deadline: decodeDecimal(info.deadline, `${at}.deadline`),
    signature: signature as Hex,
  }
}

function infoOf(extensions: unknown, name: string): JsonObject | null | undefined {
  const extension = (extensions as JsonObject | null | undefined)?.[name]
  return (extension as { info?: JsonObject | null } | null | undefined)?.info
}

export function decodeSignature(value: unknown, field: string): Hex {
  const text = decodeString(value, field, 16_384)
  if (!/^0x([0-9a-fA-F]{2})+$/.test(text)) throw refuse(field, 'must be a hex byte string')
  return text.toLowerCase() as Hex
}

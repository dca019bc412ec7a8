import {
  decodeAddressField,
  decodeDecimal,
  decodeHash,
  decodeInteger,
  decodeNetwork,
  decodeObject,
  decodeOneOf,
  decodeString,
  decodeText,
  invalidField,
  type JsonObject,
  type Network,
} from '../decode/fields.js'
import type { Address, Hex } from '../hex.js'

/** x402's schemes that are settled here: up to a signed maximum, or the exact amount signed. */
export const SCHEMES = ['upto', 'exact'] as const
export type Scheme = (typeof SCHEMES)[number]

/** What a seller asks for (x402 v2 `PaymentRequirements`). `amount` is in the smallest unit of `asset`. */
export interface Requirements {
  scheme: Scheme
  network: Network
  asset: Address
  amount: bigint
  payTo: Address
  /** Seconds; 0 if the seller gave none. */
  maxTimeoutSeconds: number
  extra: JsonObject
}

/** What a buyer signed, in the same terms for every contract, so that the ledger treats all alike. Amounts: smallest unit of `token`. */
interface Signed {
  payer: Address
  token: Address
  /** `exact` moves all of it. */
  maximum: bigint
  /** EIP-3009's 32-byte nonces as a number. */
  nonce: bigint
  /** Unix time in seconds, inclusive. For EIP-3009, the last second before `validBefore`. */
  deadline: bigint
  payTo: Address
  /** The settler as signed; `null` for `exact`, which anyone may settle. */
  facilitator: Address | null
  /** Unix time in seconds. */
  validAfter: bigint
  signature: Hex
}

/** Permit2's `PermitWitnessTransferFrom` with the witness of the scheme's proxy. */
export type Permit2Authorization = Signed & { kind: 'upto-permit2' | 'exact-permit2'; spender: Address }
/** EIP-3009's `TransferWithAuthorization` of the token. */
export type Eip3009Authorization = Signed & { kind: 'exact-eip3009' }
export type SignedAuthorization = Permit2Authorization | Eip3009Authorization
export type AuthorizationKind = SignedAuthorization['kind']

/** An EIP-2612 permit as sent by x402's `eip2612GasSponsoring` extension: it lets `spender` move `amount` of the payer's tokens. */
export interface TokenPermit {
  owner: Address
  token: Address
  spender: Address
  /** Smallest unit. */
  amount: bigint
  /** Unix time in seconds, inclusive. */
  deadline: bigint
  /** 65 bytes: r, s, v. */
  signature: Hex
}

/** A decoded x402 v2 `PaymentPayload`. */
export interface SignedPayment {
  accepted: Requirements
  authorization: SignedAuthorization
  /** `null` if the payer sent none. */
  permit: TokenPermit | null
}

/** x402's extension in which a facilitator settles with the payer's EIP-2612 permit instead of an approval. */
export const GAS_SPONSORING = 'eip2612GasSponsoring'
/** x402's extension by which a buyer names a request, to fetch its answer again. */
export const PAYMENT_IDENTIFIER = 'payment-identifier'

/** @throws DecodeError */
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

export function schemeOf(kind: AuthorizationKind): Scheme {
  return kind === 'upto-permit2' ? 'upto' : 'exact'
}

/**
 * Decodes an x402 v2 `PaymentPayload` by its accepted scheme and, for `exact`, by what was signed. Strict: each signed
 * content has only one accepted encoding of its numbers. @throws DecodeError
 */
export function decodePaymentPayload(value: unknown, field = 'paymentPayload'): SignedPayment {
  const object = decodeObject(value, field)
  if (object.x402Version !== 2) throw invalidField(`${field}.x402Version`, 'must be 2')
  const accepted = decodeRequirements(object.accepted, `${field}.accepted`)
  const payload = decodeObject(object.payload, `${field}.payload`)
  const signature = decodeSignature(payload.signature, `${field}.payload.signature`)
  if (accepted.scheme === 'exact' && payload.permit2Authorization === undefined) {
    const signed = decodeEip3009(payload.authorization, `${field}.payload.authorization`)
    const authorization = { ...signed, token: accepted.asset, facilitator: null, signature }
    return { accepted, authorization: { kind: 'exact-eip3009', ...authorization }, permit: null }
  }
  const isUpto = accepted.scheme === 'upto'
  const signed = decodePermit2(payload.permit2Authorization, isUpto, `${field}.payload.permit2Authorization`)
  return {
    accepted,
    authorization: { kind: isUpto ? 'upto-permit2' : 'exact-permit2', ...signed, signature },
    permit: decodePermit(object.extensions, `${field}.extensions`),
  }
}

/** The payment as an x402 v2 payload without extensions. Contains only fields that {@link decodePaymentPayload} knows. */
export function encodePaymentPayload({ accepted, authorization }: SignedPayment) {
  const { payer: from, payTo: to, signature } = authorization
  const amount = `${authorization.maximum}`
  const validAfter = `${authorization.validAfter}`
  const signed =
    authorization.kind === 'exact-eip3009'
      ? {
          authorization: {
            from,
            to,
            value: amount,
            validAfter,
            validBefore: `${authorization.deadline + 1n}`,
            nonce: `0x${authorization.nonce.toString(16).padStart(64, '0')}`,
          },
        }
      : {
          permit2Authorization: {
            from,
            permitted: { token: authorization.token, amount },
            spender: authorization.spender,
            nonce: `${authorization.nonce}`,
            deadline: `${authorization.deadline}`,
            witness: {
              to,
              ...(authorization.kind === 'upto-permit2' ? { facilitator: authorization.facilitator } : {}),
              validAfter,
            },
          },
        }
  return {
    x402Version: 2,
    accepted: { ...accepted, amount: `${accepted.amount}` },
    payload: { signature, ...signed },
  }
}

function decodePermit2(value: unknown, isUpto: boolean, at: string) {
  const signed = decodeObject(value, at)
  const permitted = decodeObject(signed.permitted, `${at}.permitted`)
  const witness = decodeObject(signed.witness, `${at}.witness`)
  return {
    payer: decodeAddressField(signed.from, `${at}.from`),
    token: decodeAddressField(permitted.token, `${at}.permitted.token`),
    maximum: decodeDecimal(permitted.amount, `${at}.permitted.amount`),
    spender: decodeAddressField(signed.spender, `${at}.spender`),
    nonce: decodeDecimal(signed.nonce, `${at}.nonce`),
    deadline: decodeDecimal(signed.deadline, `${at}.deadline`),
    payTo: decodeAddressField(witness.to, `${at}.witness.to`),
    facilitator: isUpto ? decodeAddressField(witness.facilitator, `${at}.witness.facilitator`) : null,
    validAfter: decodeDecimal(witness.validAfter, `${at}.witness.validAfter`),
  }
}

function decodeEip3009(value: unknown, at: string) {
  const signed = decodeObject(value, at)
  const validBefore = decodeDecimal(signed.validBefore, `${at}.validBefore`)
  return {
    payer: decodeAddressField(signed.from, `${at}.from`),
    maximum: decodeDecimal(signed.value, `${at}.value`),
    nonce: BigInt(decodeHash(signed.nonce, `${at}.nonce`)),
    deadline: validBefore === 0n ? 0n : validBefore - 1n,
    payTo: decodeAddressField(signed.to, `${at}.to`),
    validAfter: decodeDecimal(signed.validAfter, `${at}.validAfter`),
  }
}

/** Clients repeat the offer's extensions whether they use them or not, so a permit counts only if it is signed. */
function decodePermit(extensions: unknown, field: string): TokenPermit | null {
  const info = infoOf(extensions, GAS_SPONSORING)
  if (info?.signature === undefined) return null
  const at = `${field}.${GAS_SPONSORING}.info`
  const signature = decodeText(info.signature, /^0x[0-9a-fA-F]{130}$/, `${at}.signature`, '65 bytes in hex')
  return {
    owner: decodeAddressField(info.from, `${at}.from`),
    token: decodeAddressField(info.asset, `${at}.asset`),
    spender: decodeAddressField(info.spender, `${at}.spender`),
    amount: decodeDecimal(info.amount, `${at}.amount`),
    deadline: decodeDecimal(info.deadline, `${at}.deadline`),
    signature: signature.toLowerCase() as Hex,
  }
}

/** Returns the id of a payload's {@link PAYMENT_IDENTIFIER} extension; undefined if the buyer sent none. @throws DecodeError */
export function decodePaymentIdentifier(extensions: unknown, field = 'extensions'): string | undefined {
  const id = infoOf(extensions, PAYMENT_IDENTIFIER)?.id
  const at = `${field}.${PAYMENT_IDENTIFIER}.info.id`
  const expected = '16 to 128 letters, digits, hyphens and underscores'
  return id === undefined ? undefined : decodeText(id, /^[A-Za-z0-9_-]{16,128}$/, at, expected)
}

function infoOf(extensions: unknown, name: string): JsonObject | null | undefined {
  const extension = (extensions as JsonObject | null | undefined)?.[name]
  return (extension as { info?: JsonObject | null } | null | undefined)?.info
}

function decodeSignature(value: unknown, field: string): Hex {
  const text = decodeString(value, field, 16_384)
  if (!/^0x([0-9a-fA-F]{2})+$/.test(text)) throw invalidField(field, 'must be a hex byte string')
  return text.toLowerCase() as Hex
}

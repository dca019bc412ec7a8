import {
  decodeAddressField,
  decodeDecimal,
  decodeHash,
  decodeInteger,
  decodeObject,
  decodeSignature,
  decodeString,
  decodeText,
  refuse,
} from '@upfront/protocol'
import type { PaymentPayload } from '@x402/core/types'
import { PAYMENT_IDENTIFIER } from './offer-extensions.js'

const HEADER = 'PAYMENT-SIGNATURE'

export interface Authorization {
  /** As it was written, which may be checksummed. */
  payer: string
  nonce: bigint
  /** Seconds since 1970. */
  deadline: bigint
}

export interface SignedPayment {
  /** The id of x402's `payment-identifier` extension, where the buyer gave one. */
  identifier: string | undefined
  /** Rebuilt from the fields that the scheme knows: whatever else was sent is not in it. */
  payload: PaymentPayload
  authorization: Authorization
}

/** Of the header as sent. A payment takes about 1.4 KB; Node itself stops at 16 KB for all headers of a request. */
const MAX_PAYMENT_HEADER_BYTES = 12 * 1024

/**
 * Strict: canonical base64 of UTF-8 JSON, x402 version 2, an authorization of Permit2, or an `exact` one of EIP-3009, whose numbers
 * are plain decimal strings below 2^256. One signed content has one encoding of its numbers.
 * @throws DecodeError
 */
export function decodePaymentHeader(header: string): SignedPayment {
  if (header.length > MAX_PAYMENT_HEADER_BYTES) {
    throw refuse(HEADER, `longer than ${MAX_PAYMENT_HEADER_BYTES} bytes`)
  }
  const root = decodeObject(parseJson(decodeBase64(header)), 'payment')
  if (root.x402Version !== 2) throw refuse('x402Version', 'expected 2')
  const accepted = decodeObject(root.accepted, 'accepted')
  const payload = decodeObject(root.payload, 'payload')
  const { signed, authorization } =
    accepted.scheme === 'exact' && payload.permit2Authorization === undefined
      ? eip3009(payload.authorization)
      : permit2(payload.permit2Authorization, accepted.scheme === 'exact')
  return {
    payload: {
      x402Version: 2,
      ...(root.resource === undefined || root.resource === null
        ? {}
        : {
            resource: {
              url: decodeString(decodeObject(root.resource, 'resource').url, 'resource.url', MAX_PAYMENT_HEADER_BYTES),
            },
          }),
      accepted: {
        scheme: decodeString(accepted.scheme, 'accepted.scheme'),
        network: network(accepted.network, 'accepted.network'),
        amount: decimal(accepted.amount, 'accepted.amount'),
        asset: decodeAddressField(accepted.asset, 'accepted.asset'),
        payTo: decodeAddressField(accepted.payTo, 'accepted.payTo'),
        maxTimeoutSeconds: decodeInteger(accepted.maxTimeoutSeconds, 'accepted.maxTimeoutSeconds'),
        extra:
          accepted.extra === undefined || accepted.extra === null ? {} : decodeObject(accepted.extra, 'accepted.extra'),
      },
      payload: { signature: decodeSignature(payload.signature, 'payload.signature'), ...signed },
      ...(root.extensions === undefined || root.extensions === null
        ? {}
        : { extensions: decodeObject(root.extensions, 'extensions') }),
    },
    identifier: paymentIdentifier(root.extensions),
    authorization,
  }
}

/** What the wallet signed, rebuilt, and what of it tells one authorization from another. */
type Signed = { signed: Record<string, unknown>; authorization: Authorization }

function permit2(value: unknown, isExact: boolean): Signed {
  const at = 'payload.permit2Authorization'
  const signed = decodeObject(value, at)
  const permitted = decodeObject(signed.permitted, `${at}.permitted`)
  const witness = decodeObject(signed.witness, `${at}.witness`)
  const permit2Authorization = {
    from: decodeAddressField(signed.from, `${at}.from`),
    permitted: {
      token: decodeAddressField(permitted.token, `${at}.permitted.token`),
      amount: decimal(permitted.amount, `${at}.permitted.amount`),
    },
    spender: decodeAddressField(signed.spender, `${at}.spender`),
    nonce: decimal(signed.nonce, `${at}.nonce`),
    deadline: decimal(signed.deadline, `${at}.deadline`),
    witness: {
      to: decodeAddressField(witness.to, `${at}.witness.to`),
      ...(isExact ? {} : { facilitator: decodeAddressField(witness.facilitator, `${at}.witness.facilitator`) }),
      validAfter: decimal(witness.validAfter, `${at}.witness.validAfter`),
    },
  }
  const { nonce, deadline } = permit2Authorization
  return {
    signed: { permit2Authorization },
    authorization: { payer: String(signed.from), nonce: BigInt(nonce), deadline: BigInt(deadline) },
  }
}

function eip3009(value: unknown): Signed {
  const at = 'payload.authorization'
  const signed = decodeObject(value, at)
  const authorization = {
    from: decodeAddressField(signed.from, `${at}.from`),
    to: decodeAddressField(signed.to, `${at}.to`),
    value: decimal(signed.value, `${at}.value`),
    validAfter: decimal(signed.validAfter, `${at}.validAfter`),
    validBefore: decimal(signed.validBefore, `${at}.validBefore`),
    nonce: decodeHash(signed.nonce, `${at}.nonce`),
  }
  const { nonce, validBefore } = authorization
  const deadline = BigInt(validBefore) - 1n
  return { signed: { authorization }, authorization: { payer: String(signed.from), nonce: BigInt(nonce), deadline } }
}

function paymentIdentifier(extensions: unknown): string | undefined {
  const at = `extensions.${PAYMENT_IDENTIFIER}.info`
  const extension = (extensions as Record<string, { info?: { id?: unknown } } | undefined> | null | undefined)?.[
    PAYMENT_IDENTIFIER
  ]
  const id = extension?.info?.id
  if (id === undefined) return undefined
  return decodeText(id, /^[A-Za-z0-9_-]{16,128}$/, `${at}.id`, '16 to 128 letters, digits, hyphens and underscores')
}

function decodeBase64(header: string): string {
  const bytes = Buffer.from(header, 'base64')
  if (header === '' || bytes.toString('base64') !== header) {
    throw refuse(HEADER, 'expected base64')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refuse(HEADER, 'expected base64 of UTF-8 text')
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw refuse(HEADER, 'expected base64 of a JSON object')
  }
}

function network(value: unknown, field: string): `${string}:${string}` {
  const caip2 = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/
  return decodeText(value, caip2, field, 'a CAIP-2 network') as `${string}:${string}`
}

function decimal(value: unknown, field: string): string {
  return decodeDecimal(value, field).toString()
}

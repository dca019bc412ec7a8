import type { PaymentPayload } from '@x402/core/types'
import { PAYMENT_IDENTIFIER } from './offer-extensions.js'

/** A `PAYMENT-SIGNATURE` header that does not decode. `message` names the field, and repeats nothing of the content. */
export class PaymentHeaderError extends Error {
  override readonly name = 'PaymentHeaderError'
}

export interface Authorization {
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

const UINT256_LIMIT = 1n << 256n

/**
 * Strict: canonical base64 of UTF-8 JSON, x402 version 2, an authorization of Permit2, or an `exact` one of EIP-3009, whose numbers
 * are plain decimal strings below 2^256. One signed content has one encoding of its numbers.
 * @throws PaymentHeaderError
 */
export function decodePaymentHeader(header: string): SignedPayment {
  if (header.length > MAX_PAYMENT_HEADER_BYTES) {
    throw new PaymentHeaderError(`PAYMENT-SIGNATURE: longer than ${MAX_PAYMENT_HEADER_BYTES} bytes`)
  }
  const root = object(parseJson(decodeBase64(header)), 'payment')
  if (root.x402Version !== 2) throw new PaymentHeaderError('x402Version: expected 2')
  const accepted = object(root.accepted, 'accepted')
  const payload = object(root.payload, 'payload')
  const { signed, authorization } =
    accepted.scheme === 'exact' && payload.permit2Authorization === undefined
      ? eip3009(payload.authorization)
      : permit2(payload.permit2Authorization, accepted.scheme === 'exact')
  return {
    payload: {
      x402Version: 2,
      ...(root.resource === undefined || root.resource === null ? {} : { resource: resource(root.resource) }),
      accepted: {
        scheme: text(accepted.scheme, 'accepted.scheme'),
        network: network(accepted.network, 'accepted.network'),
        amount: decimal(accepted.amount, 'accepted.amount'),
        asset: address(accepted.asset, 'accepted.asset'),
        payTo: address(accepted.payTo, 'accepted.payTo'),
        maxTimeoutSeconds: seconds(accepted.maxTimeoutSeconds, 'accepted.maxTimeoutSeconds'),
        extra: accepted.extra === undefined || accepted.extra === null ? {} : object(accepted.extra, 'accepted.extra'),
      },
      payload: { signature: signature(payload.signature, 'payload.signature'), ...signed },
      ...(root.extensions === undefined || root.extensions === null
        ? {}
        : { extensions: object(root.extensions, 'extensions') }),
    },
    identifier: paymentIdentifier(root.extensions),
    authorization,
  }
}

/** What the wallet signed, rebuilt, and what of it tells one authorization from another. */
type Signed = { signed: Record<string, unknown>; authorization: Authorization }

function permit2(value: unknown, isExact: boolean): Signed {
  const at = 'payload.permit2Authorization'
  const signed = object(value, at)
  const permitted = object(signed.permitted, `${at}.permitted`)
  const witness = object(signed.witness, `${at}.witness`)
  const permit2Authorization = {
    from: address(signed.from, `${at}.from`),
    permitted: {
      token: address(permitted.token, `${at}.permitted.token`),
      amount: decimal(permitted.amount, `${at}.permitted.amount`),
    },
    spender: address(signed.spender, `${at}.spender`),
    nonce: decimal(signed.nonce, `${at}.nonce`),
    deadline: decimal(signed.deadline, `${at}.deadline`),
    witness: {
      to: address(witness.to, `${at}.witness.to`),
      ...(isExact ? {} : { facilitator: address(witness.facilitator, `${at}.witness.facilitator`) }),
      validAfter: decimal(witness.validAfter, `${at}.witness.validAfter`),
    },
  }
  const { from: payer, nonce, deadline } = permit2Authorization
  return {
    signed: { permit2Authorization },
    authorization: { payer, nonce: BigInt(nonce), deadline: BigInt(deadline) },
  }
}

function eip3009(value: unknown): Signed {
  const at = 'payload.authorization'
  const signed = object(value, at)
  const authorization = {
    from: address(signed.from, `${at}.from`),
    to: address(signed.to, `${at}.to`),
    value: decimal(signed.value, `${at}.value`),
    validAfter: decimal(signed.validAfter, `${at}.validAfter`),
    validBefore: decimal(signed.validBefore, `${at}.validBefore`),
    nonce: bytes32(signed.nonce, `${at}.nonce`),
  }
  const { from: payer, nonce, validBefore } = authorization
  const deadline = BigInt(validBefore) - 1n
  return { signed: { authorization }, authorization: { payer, nonce: BigInt(nonce), deadline } }
}

function paymentIdentifier(extensions: unknown): string | undefined {
  const at = `extensions.${PAYMENT_IDENTIFIER}.info`
  const extension = (extensions as Record<string, { info?: { id?: unknown } } | undefined> | null | undefined)?.[
    PAYMENT_IDENTIFIER
  ]
  const id = extension?.info?.id
  if (id === undefined) return undefined
  if (typeof id !== 'string' || !/^[A-Za-z0-9_-]{16,128}$/.test(id)) {
    throw new PaymentHeaderError(`${at}.id: expected 16 to 128 letters, digits, hyphens and underscores`)
  }
  return id
}

function decodeBase64(header: string): string {
  const bytes = Buffer.from(header, 'base64')
  if (header === '' || bytes.toString('base64') !== header) {
    throw new PaymentHeaderError('PAYMENT-SIGNATURE: expected base64')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new PaymentHeaderError('PAYMENT-SIGNATURE: expected base64 of UTF-8 text')
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new PaymentHeaderError('PAYMENT-SIGNATURE: expected base64 of a JSON object')
  }
}

function object(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new PaymentHeaderError(`${field}: expected an object`)
  }
  return value as Record<string, unknown>
}

function text(value: unknown, field: string): string {
  if (typeof value !== 'string') throw new PaymentHeaderError(`${field}: expected a string`)
  return value
}

function network(value: unknown, field: string): `${string}:${string}` {
  if (typeof value !== 'string' || !/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/.test(value)) {
    throw new PaymentHeaderError(`${field}: expected a CAIP-2 network`)
  }
  return value as `${string}:${string}`
}

function address(value: unknown, field: string): string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(value)) {
    throw new PaymentHeaderError(`${field}: expected a 20-byte hex address`)
  }
  return value
}

function decimal(value: unknown, field: string): string {
  if (typeof value !== 'string' || !/^(0|[1-9]\d{0,77})$/.test(value) || BigInt(value) >= UINT256_LIMIT) {
    throw new PaymentHeaderError(`${field}: expected a plain decimal integer string below 2^256`)
  }
  return value
}

function seconds(value: unknown, field: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new PaymentHeaderError(`${field}: expected a non-negative integer`)
  }
  return value
}

function bytes32(value: unknown, field: string): string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(value)) {
    throw new PaymentHeaderError(`${field}: expected 32 bytes in hex`)
  }
  return value.toLowerCase()
}

function signature(value: unknown, field: string): string {
  if (typeof value !== 'string' || !/^0x([0-9a-fA-F]{2})+$/.test(value)) {
    throw new PaymentHeaderError(`${field}: expected a hex byte string`)
  }
  return value
}

function resource(value: unknown): { url: string } {
  return { url: text(object(value, 'resource').url, 'resource.url') }
}

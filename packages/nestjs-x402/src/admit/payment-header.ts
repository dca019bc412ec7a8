import {
  decodeObject,
  decodePaymentIdentifier,
  decodePaymentPayload,
  decodeString,
  encodePaymentPayload,
  invalidField,
  refuseDeep,
  type SignedAuthorization,
} from '@upfront/protocol'
import type { PaymentPayload } from '@x402/core/types'

const HEADER = 'PAYMENT-SIGNATURE'

export interface PaymentHeader {
  /** The id from x402's `payment-identifier` extension, if the buyer sent one. */
  identifier: string | undefined
  /** Rebuilt from the fields that the scheme knows; all others are dropped. */
  payload: PaymentPayload
  authorization: SignedAuthorization
  /** The payer's address as sent, possibly checksummed. */
  payer: string
}

/** Limit for the encoded header. A payment takes about 1.4 KB; Node limits all headers of a request to 16 KB. */
const MAX_PAYMENT_HEADER_BYTES = 12 * 1024
/** Far more levels than any payment has, and fewer than billing takes to reserve one. */
const MAX_LEVELS = 60

/**
 * Decodes canonical base64 of UTF-8 JSON, strictly.
 * @throws DecodeError
 */
export function decodePaymentHeader(header: string): PaymentHeader {
  if (header.length > MAX_PAYMENT_HEADER_BYTES) {
    throw invalidField(HEADER, `longer than ${MAX_PAYMENT_HEADER_BYTES} bytes`)
  }
  const root = decodeObject(parseJson(decodeBase64(header)), 'payment')
  refuseDeep(root, 'payment', MAX_LEVELS)
  const signed = decodePaymentPayload(root, 'payment')
  const { authorization, permit2Authorization = authorization } = root.payload as Record<string, { from: string }>
  const { resource, extensions } = root
  return {
    payload: {
      ...encodePaymentPayload(signed),
      ...(resource === undefined || resource === null
        ? {}
        : {
            resource: {
              url: decodeString(decodeObject(resource, 'resource').url, 'resource.url', MAX_PAYMENT_HEADER_BYTES),
            },
          }),
      ...(extensions === undefined || extensions === null
        ? {}
        : { extensions: decodeObject(extensions, 'extensions') }),
    },
    identifier: decodePaymentIdentifier(extensions),
    authorization: signed.authorization,
    payer: permit2Authorization!.from,
  }
}

function decodeBase64(header: string): string {
  const bytes = Buffer.from(header, 'base64')
  if (header === '' || bytes.toString('base64') !== header) {
    throw invalidField(HEADER, 'expected base64')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalidField(HEADER, 'expected base64 of UTF-8 text')
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidField(HEADER, 'expected base64 of a JSON object')
  }
}

import { decodeObject, decodeOneOf, decodeString } from '../decode/fields.js'

/**
 * Error codes of internal calls, with their HTTP status. Refusals are not errors: they are 200 with `outcome: 'refused'`.
 *
 * `unavailable` (node, database or shutdown) may be repeated with the same key and comes with `Retry-After`.
 */
export const BILLING_ERROR_STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  /** The token is valid but not for this endpoint: the read-only token, or that of a seller's account. */
  forbidden: 403,
  not_found: 404,
  /** The same idempotency key with different input or for another operation. */
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const
export type BillingErrorCode = keyof typeof BILLING_ERROR_STATUS

/** The body of every response that is not 2xx. */
export interface BillingErrorBody {
  error: { code: BillingErrorCode; message: string; field?: string }
}

/** @throws DecodeError */
export function decodeBillingErrorBody(value: unknown): BillingErrorBody {
  const error = decodeObject(decodeObject(value, 'body').error, 'error')
  const codes = Object.keys(BILLING_ERROR_STATUS) as BillingErrorCode[]
  return {
    error: {
      code: decodeOneOf(error.code, 'error.code', codes),
      message: decodeString(error.message, 'error.message'),
      ...(error.field === undefined ? {} : { field: decodeString(error.field, 'error.field') }),
    },
  }
}

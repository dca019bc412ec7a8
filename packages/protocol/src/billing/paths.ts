import type { Network } from '../decode/fields.js'

/**
 * The internal calls. Each carries `Authorization: Bearer <BILLING_TOKEN>`, and each POST an `Idempotency-Key` (1 to 200 characters, chosen
 * by the caller). A repeat with the same input returns the first result and does nothing. For `authorize`, use a new key per HTTP request
 * of a buyer: the same authorization under another key is refused.
 */
export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key'

export const billingPath = {
  /** POST {@link AuthorizeRequest} → {@link AuthorizeResult}. */
  authorize: '/internal/payments',
  /** POST {@link ChargeRequest} → {@link ChargeResult}. */
  charge: (paymentId: string) => `/internal/payments/${encodeURIComponent(paymentId)}/charge` as const,
  /** POST {@link ReleaseRequest} → {@link ChargeResult}. */
  release: (paymentId: string) => `/internal/payments/${encodeURIComponent(paymentId)}/release` as const,
  /** GET → `{payment}` or 404. `?waitMilliseconds=` waits until the payment is mined or final. */
  payment: (paymentId: string) => `/internal/payments/${encodeURIComponent(paymentId)}` as const,
  /** GET → `{payment}` or 404: the payment made from an authorization. */
  paymentByAuthorization: (network: Network, payer: string, nonce: bigint) =>
    `/internal/payments?network=${encodeURIComponent(network)}&payer=${payer}&nonce=${nonce}` as const,
  /** PUT {@link KeptAnswer} → `{kept}`, GET → `{answer}` or 404: a seller's answer that waits for this payment. */
  answer: (paymentId: string) => `/internal/payments/${encodeURIComponent(paymentId)}/answer` as const,
  /** GET → {@link Token} or 404. */
  token: (network: Network, asset: string) => `/internal/tokens/${encodeURIComponent(network)}/${asset}` as const,
  /**
   * GET → x402's `SupportedResponse`, without a token. Every replica returns the same `extra.facilitatorAddress`. Authorizations for any
   * address in `signers` are accepted, and that signer settles them.
   */
  supported: '/supported',
} as const

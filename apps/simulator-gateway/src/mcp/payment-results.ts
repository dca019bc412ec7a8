import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import type { PaymentRequired, SettleResponse } from '@x402/core/types'
import type { OwnAnswer } from './own-routes.js'

// x402 answers as tool results. Source: x402 `specs/transports-v2/mcp.md`.

/** The result's `_meta` key for the settlement. */
export const PAYMENT_RESPONSE = 'x402/payment-response'

const HOW_TO_PAY =
  'To pay: sign one of `accepts` with an x402 client, and call the tool again with the same arguments and the signed PaymentPayload in _meta["x402/payment"]. No HTTP header is needed.'

/** Whether the answer is an x402 offer: a 402, or a 412 if only the token's approval is missing. */
export function isOffer({ headers }: OwnAnswer): boolean {
  return headers['payment-required'] !== undefined
}

/** The answer's PAYMENT-RESPONSE; undefined if nothing was paid. */
export function receiptOf({ headers }: OwnAnswer): SettleResponse | undefined {
  const header = headers['payment-response']
  return header === undefined ? undefined : decodePaymentResponseHeader(String(header))
}

/** The tool result for an offer, or for a refused payment. */
export function paymentRequired(tool: string, answer: OwnAnswer): CallToolResult {
  const { message, approve } = JSON.parse(answer.body) as { message: string; approve?: unknown }
  const required = { ...offerOf(tool, answer), ...(approve === undefined ? {} : { approve }) }
  return refused(`${message} ${HOW_TO_PAY}`, required)
}

/** @param unpaid the same route's answer to a request without a payment */
export function failedSettlement(
  tool: string,
  answer: OwnAnswer,
  receipt: SettleResponse,
  unpaid: OwnAnswer,
): CallToolResult {
  const { error, message } = JSON.parse(answer.body) as { error: string; message: string }
  const offer = isOffer(unpaid) ? offerOf(tool, unpaid) : {}
  return refused(message, { ...offer, error, [PAYMENT_RESPONSE]: receipt })
}

/** The tool result for the route's own answer, success or error. */
export function paidResult({ status, body }: OwnAnswer, receipt: SettleResponse | undefined): CallToolResult {
  const failed = status >= 400 || /^\{"jsonrpc":"2\.0","id":1,"error":/.test(body)
  return {
    ...(failed ? { isError: true } : { structuredContent: JSON.parse(body) }),
    content: [{ type: 'text', text: body }],
    ...(receipt === undefined ? {} : { _meta: { [PAYMENT_RESPONSE]: receipt } }),
  }
}

function offerOf(tool: string, { headers }: OwnAnswer): PaymentRequired {
  const required = decodePaymentRequiredHeader(String(headers['payment-required']))
  return { ...required, resource: { ...required.resource, url: `mcp://tool/${tool}` } }
}

/** The first text is for programs, the second for the model. */
function refused(words: string, required: Record<string, unknown> | PaymentRequired): CallToolResult {
  return {
    isError: true,
    structuredContent: { ...required },
    content: [
      { type: 'text', text: JSON.stringify(required) },
      { type: 'text', text: words },
    ],
  }
}

import { decodeReceipt, type SignedReceipt } from '../receipt.js'
import { type Check, type Outcome, verdictOf } from './check.js'
import { checkCall } from './check-call.js'
import { checkPayment } from './check-payment.js'
import { decodePaidExchange, type PaidCall, paidCallsOf, type VerifyOptions } from './paid-exchange.js'

/** The checks of a paid request, call by call; `payment` covers all calls together. */
export interface Verification {
  calls: { name: string; checks: Check[] }[]
  payment: Check[]
  /** `right`: every check was made and passed. `unchecked`: nothing is wrong, but not everything could be checked. */
  verdict: Outcome
}

/**
 * Checks the bill of a paid request offline: compares the buyer's documents with each other, verifies signatures, hashes and proofs, and
 * executes the request again for gas, touched state and amount. A missing document makes the verdict `unchecked`, never `right`.
 * @param value see `PaidExchange`
 * @throws Error that names the field if it does not decode
 */
export async function verify(value: unknown, options: VerifyOptions = {}): Promise<Verification> {
  const exchange = decodePaidExchange(value)
  const calls = paidCallsOf(exchange)
  const checked: Verification['calls'] = []
  for (const call of calls) checked.push({ name: call.name, checks: await checkCall(call, exchange, options) })
  const payment = await checkPayment(receiptsOf(calls), exchange, options)
  return { calls: checked, payment, verdict: verdictOf([...checked.flatMap(({ checks }) => checks), ...payment]) }
}

/** Undefined if a receipt is missing or does not decode. */
function receiptsOf(calls: readonly PaidCall[]): SignedReceipt[] | undefined {
  try {
    return calls.map(({ receipt }) => decodeReceipt(receipt))
  } catch {
    return undefined
  }
}

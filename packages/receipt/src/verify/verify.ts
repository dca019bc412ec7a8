import { decodeReceipt, type SignedReceipt } from '../receipt.js'
import { type Check, type Outcome, verdictOf } from './check.js'
import { checkCall } from './check-call.js'
import { checkPayment } from './check-payment.js'
import { decodePaidExchange, type PaidCall, paidCallsOf, type VerifyOptions } from './paid-exchange.js'

/** A paid request, checked call by call; `payment` is about all of them together. */
export interface Verification {
  calls: { name: string; checks: Check[] }[]
  payment: Check[]
  /** `right` where every check was made and found nothing; `unchecked` where nothing is wrong, but not all could be checked. */
  verdict: Outcome
}

/**
 * Checks the bill of a paid request offline: all that the buyer holds against all else, signatures, hashes, proofs, and by executing it
 * again gas, touched state and amount. What is left out makes the verdict `unchecked`, never `right`.
 * @param value see `PaidExchange`
 * @throws Error where it is none, naming the field
 */
export async function verify(value: unknown, options: VerifyOptions = {}): Promise<Verification> {
  const exchange = decodePaidExchange(value)
  const calls = paidCallsOf(exchange)
  const checked: Verification['calls'] = []
  for (const call of calls) checked.push({ name: call.name, checks: await checkCall(call, exchange, options) })
  const payment = await checkPayment(receiptsOf(calls), exchange, options)
  return { calls: checked, payment, verdict: verdictOf([...checked.flatMap(({ checks }) => checks), ...payment]) }
}

/** Undefined where one is missing, or can't be read. */
function receiptsOf(calls: readonly PaidCall[]): SignedReceipt[] | undefined {
  try {
    return calls.map(({ receipt }) => decodeReceipt(receipt))
  } catch {
    return undefined
  }
}

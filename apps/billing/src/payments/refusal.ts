import { RefusalReason, type Scheme } from '@upfront/protocol'
import type { Refusal } from '../verify/payment-request.js'

export const USED_BEFORE: Refusal = { reason: RefusalReason.nonceUsed, message: 'this authorization was used before' }
export const PAYER_REFUSED: Refusal = {
  reason: RefusalReason.payerRefused,
  message: 'a payment of this payer could not be collected, or looks as if it could not be: it is refused for a while',
}
export const SIGNER_OUT_OF_GAS: Refusal = {
  reason: RefusalReason.signerOutOfGas,
  message: "the facilitator's signer can't pay for the gas of another settlement; nothing was reserved",
}
export const SELLER_GAS_SPENT: Refusal = {
  reason: RefusalReason.signerOutOfGas,
  message: "this seller's gas of 24 hours is spent, or promised to settlements that are under way",
}
export const SPONSORING_SPENT: Refusal = {
  reason: RefusalReason.sponsoringSpent,
  message: 'enough gas was sponsored today: this payer has to approve Permit2 by a transaction of its own',
}
export const CODE_TOO_COSTLY: Refusal = {
  reason: RefusalReason.payerCodeTooCostly,
  message:
    "the code of the payer's account, or the token, uses more gas than its settled payments of 24 hours are worth: pay more, or from a plain account",
}

/** The refusal of a `maximum` that is not covered in addition to the amount already reserved. */
export function describeShortfall(
  maximum: bigint,
  reserved: bigint,
  { balance, allowance }: { balance: bigint; allowance: bigint },
): Refusal {
  const lacksBalance = balance < reserved + maximum
  const held = lacksBalance ? balance : allowance
  return {
    reason: lacksBalance ? RefusalReason.insufficientBalance : RefusalReason.allowanceRequired,
    message: `${maximum} is asked, ${reserved} of ${held} is reserved by other payments`,
  }
}

/** Refusal if an amount does not match what was signed: `upto` takes up to the maximum, `exact` exactly it. */
export function findExcess(scheme: Scheme, maximum: bigint, amount: bigint): Refusal | null {
  if (scheme === 'exact' && amount !== maximum) {
    const message = `the charge ${amount} is not the authorized amount ${maximum}`
    return { reason: RefusalReason.amountMismatch, message }
  }
  if (amount <= maximum) return null
  const message = `the charge ${amount} is above the authorized maximum ${maximum}`
  return { reason: RefusalReason.exceedsMaximum, message }
}

import { RefusalReason, type Scheme } from '@upfront/protocol'
import type { Refusal } from '../verify/payment-request.js'

export const USED_BEFORE: Refusal = { reason: RefusalReason.nonceUsed, message: 'this authorization was used before' }
export const IDENTIFIER_TAKEN: Refusal = {
  reason: RefusalReason.identifierTaken,
  message: 'this payment identifier was used with another payment',
}
export const PAYER_REFUSED: Refusal = {
  reason: RefusalReason.payerRefused,
  message:
    'a payment of this payer could not be settled, or is likely to fail: its payments are refused for now; try again later',
}
export const SIGNER_OUT_OF_GAS: Refusal = {
  reason: RefusalReason.signerOutOfGas,
  message: "the facilitator's signer can't pay for the gas of another settlement; nothing was reserved",
}
export const SELLER_GAS_SPENT: Refusal = {
  reason: RefusalReason.signerOutOfGas,
  message: "this seller's gas budget of 24 hours is spent, or reserved for settlements in progress",
}
export const SPONSORING_SPENT: Refusal = {
  reason: RefusalReason.sponsoringSpent,
  message: 'no more gas is sponsored for this payer today: it has to approve Permit2 in a transaction of its own',
}
export const CODE_TOO_COSTLY: Refusal = {
  reason: RefusalReason.payerCodeTooCostly,
  message:
    "the code of the payer's account, or of the token, uses more gas than its payments settled in 24 hours are worth: pay more, or from an account without code",
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
    message: `the payment needs ${maximum}, and other payments reserve ${reserved} of the ${lacksBalance ? 'balance' : 'allowance'} ${held}`,
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

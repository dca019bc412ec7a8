/**
 * Why a payment is refused or failed. Uses the strings of @x402/core and @x402/evm 2.27.0 where they exist,
 * so that clients of buyers know them; the last group is billing's own.
 */
export const RefusalReason = {
  invalidPayload: 'invalid_payload',
  invalidNetwork: 'invalid_network',
  invalidScheme: 'invalid_upto_evm_scheme',
  networkMismatch: 'invalid_upto_evm_network_mismatch',
  unsupportedPayloadType: 'unsupported_payload_type',
  /** Zero was signed, but x402's proxies move at least 1. */
  invalidAmount: 'permit2_invalid_amount',
  amountMismatch: 'permit2_amount_mismatch',
  tokenMismatch: 'permit2_token_mismatch',
  recipientMismatch: 'invalid_permit2_recipient_mismatch',
  spenderMismatch: 'invalid_permit2_spender',
  facilitatorMismatch: 'upto_facilitator_mismatch',
  invalidSignature: 'invalid_permit2_signature',
  /** Also if the deadline leaves too little time for the route's timeout and the settlement. */
  deadlineExpired: 'permit2_deadline_expired',
  /** Later than the offer's `maxTimeoutSeconds` (for `exact` at least an hour) plus a minute: the balance would be reserved that long. */
  deadlineTooFar: 'permit2_deadline_too_far',
  notYetValid: 'permit2_not_yet_valid',
  /** Also if the payer's other open reservations leave too little. */
  insufficientBalance: 'permit2_insufficient_balance',
  /** Also if the payer's other open reservations leave too little. */
  allowanceRequired: 'permit2_allowance_required',
  invalidPermit: 'invalid_eip2612_extension_format',
  permitOwnerMismatch: 'eip2612_from_mismatch',
  permitTokenMismatch: 'eip2612_asset_mismatch',
  permitSpenderMismatch: 'eip2612_spender_not_permit2',
  /** Also if it is before the authorization's own deadline. */
  permitDeadlineExpired: 'eip2612_deadline_expired',
  permitAmountMismatch: 'permit2_2612_amount_mismatch',
  assetNotContract: 'asset_not_deployed_contract',
  /** x402's proxy for the scheme is not deployed on the chain. */
  proxyNotDeployed: 'permit2_proxy_not_deployed',
  simulationFailed: 'permit2_simulation_failed',
  /** The (payer, nonce) was reserved before, or is used in Permit2. */
  nonceUsed: 'permit2_invalid_nonce',
  /** The payer used the identifier with another payment in the last 24 hours, which did not come to nothing. */
  identifierTaken: 'payment_identifier_taken',
  exceedsMaximum: 'invalid_upto_evm_payload_settlement_exceeds_amount',
  transactionFailed: 'invalid_upto_evm_transaction_failed',
  settlementPending: 'settlement_pending',
  /** Charged, but it could not be settled as of the newest block. Deliver nothing for it. */
  settlementDoubtful: 'settlement_doubtful',
  /** The token is not in billing's configuration. */
  unknownAsset: 'unsupported_asset',
  /** The signer lacks gas for another settlement: the operator's problem, not the payment's. */
  signerOutOfGas: 'facilitator_out_of_gas',
  /** The payer used up its gas sponsoring of 24 hours in this token and must now approve Permit2 itself. */
  sponsoringSpent: 'gas_sponsoring_spent',
  /** A stranger's settlement to a recipient that this facilitator does not serve. */
  payToNotServed: 'pay_to_not_served',
  /** A stranger's settlement below the least amount that this facilitator settles. */
  amountTooSmall: 'amount_too_small',
  /** The payer is blocked after an uncollectable or doubtful payment; permanently if its contract made a settlement revert on chain. */
  payerRefused: 'payer_refused',
  /** The code of the payer's account, or the token, uses more extra gas than the payer's settled payments of 24 hours are worth. */
  payerCodeTooCostly: 'payer_code_too_costly',
  /** Charge or release of a payment that is no longer `authorized`. */
  notAuthorized: 'payment_not_authorized',
  /** The payer invalidated the nonce on chain (Permit2 `invalidateUnorderedNonces`) after the authorization. */
  nonceInvalidated: 'permit2_nonce_invalidated',
  /** The nonce was used for a transfer of another amount than the charge. */
  transferMismatch: 'transfer_event_mismatch',
} as const
export type RefusalReason = (typeof RefusalReason)[keyof typeof RefusalReason]

/** An expected refusal: a value, never an HTTP error. `message` is for humans and contains no secret. */
export interface Refusal {
  outcome: 'refused'
  reason: string
  message: string
}

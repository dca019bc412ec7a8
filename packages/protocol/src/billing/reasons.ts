/**
 * Why a payment is refused or failed. The strings are those of @x402/core and @x402/evm 2.27.0 where they have one, so
 * that a buyer's client knows them; the last group is billing's own.
 */
export const RefusalReason = {
  invalidPayload: 'invalid_payload',
  invalidNetwork: 'invalid_network',
  invalidScheme: 'invalid_upto_evm_scheme',
  networkMismatch: 'invalid_upto_evm_network_mismatch',
  unsupportedPayloadType: 'unsupported_payload_type',
  /** Zero was signed: x402's proxies move no less than 1. */
  invalidAmount: 'permit2_invalid_amount',
  amountMismatch: 'permit2_amount_mismatch',
  tokenMismatch: 'permit2_token_mismatch',
  recipientMismatch: 'invalid_permit2_recipient_mismatch',
  spenderMismatch: 'invalid_permit2_spender',
  facilitatorMismatch: 'upto_facilitator_mismatch',
  invalidSignature: 'invalid_permit2_signature',
  /** Also: too close, the route's time-out and the settlement would not fit before the deadline. */
  deadlineExpired: 'permit2_deadline_expired',
  /** Further away than the offer's `maxTimeoutSeconds` and a minute: it would hold what it reserves for as long. */
  deadlineTooFar: 'permit2_deadline_too_far',
  notYetValid: 'permit2_not_yet_valid',
  /** Also: not enough beside the payer's other open reservations. */
  insufficientBalance: 'permit2_insufficient_balance',
  /** Also: not enough beside the payer's other open reservations. */
  allowanceRequired: 'permit2_allowance_required',
  invalidPermit: 'invalid_eip2612_extension_format',
  permitOwnerMismatch: 'eip2612_from_mismatch',
  permitTokenMismatch: 'eip2612_asset_mismatch',
  permitSpenderMismatch: 'eip2612_spender_not_permit2',
  /** Also: before the authorization's own deadline. */
  permitDeadlineExpired: 'eip2612_deadline_expired',
  permitAmountMismatch: 'permit2_2612_amount_mismatch',
  assetNotContract: 'asset_not_deployed_contract',
  /** The chain lacks x402's proxy for the scheme. */
  proxyNotDeployed: 'permit2_proxy_not_deployed',
  simulationFailed: 'permit2_simulation_failed',
  /** The (payer, nonce) was reserved before, or Permit2 has it burnt. */
  nonceUsed: 'permit2_invalid_nonce',
  exceedsMaximum: 'invalid_upto_evm_payload_settlement_exceeds_amount',
  transactionFailed: 'invalid_upto_evm_transaction_failed',
  settlementPending: 'settlement_pending',
  /** Charged, and as of the newest block it could not be settled: nothing is to be delivered for it. */
  settlementDoubtful: 'settlement_doubtful',
  /** The token is not one that billing was configured with. */
  unknownAsset: 'unsupported_asset',
  /** The signer can't pay for the gas of another settlement: the operator's matter, and no fault of the payment. */
  signerOutOfGas: 'facilitator_out_of_gas',
  /** The payer had so much gas sponsored in a day that it must now approve Permit2 itself. */
  sponsoringSpent: 'gas_sponsoring_spent',
  /** A stranger's settlement to a recipient that this facilitator does not serve. */
  payToNotServed: 'pay_to_not_served',
  /** A stranger's settlement that is worth less than this facilitator settles. */
  amountTooSmall: 'amount_too_small',
  /** A payer whose payment could not be collected, or looks as if it could not: refused for a while, a contract that burns gas for good. */
  payerRefused: 'payer_refused',
  /** The code of the payer's account uses more gas than a settlement may, and nobody pays for that. */
  payerCodeTooCostly: 'payer_code_too_costly',
  /** Charge or release of a payment that is no longer `authorized`. */
  notAuthorized: 'payment_not_authorized',
  /** The payer burnt the nonce on chain (Permit2 `invalidateUnorderedNonces`) after it was authorized. */
  nonceInvalidated: 'permit2_nonce_invalidated',
  /** The nonce was spent on a transfer of another amount than the charge. */
  transferMismatch: 'transfer_event_mismatch',
} as const
export type RefusalReason = (typeof RefusalReason)[keyof typeof RefusalReason]

/** An expected refusal: a value, never an HTTP error. `message` is for people and holds no secret. */
export interface Refusal {
  outcome: 'refused'
  reason: string
  message: string
}

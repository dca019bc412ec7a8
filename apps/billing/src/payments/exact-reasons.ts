import { RefusalReason } from '@upfront/protocol'

/** What @x402/evm 2.27.0 calls the reasons of `exact` by EIP-3009; the ledger keeps those of `upto` for both. */
const EXACT_REASONS: Readonly<Record<string, string>> = {
  [RefusalReason.invalidScheme]: 'invalid_exact_evm_scheme',
  [RefusalReason.networkMismatch]: 'invalid_exact_evm_network_mismatch',
  [RefusalReason.amountMismatch]: 'invalid_exact_evm_payload_authorization_value_mismatch',
  [RefusalReason.exceedsMaximum]: 'invalid_exact_evm_payload_authorization_value_mismatch',
  [RefusalReason.recipientMismatch]: 'invalid_exact_evm_recipient_mismatch',
  [RefusalReason.invalidSignature]: 'invalid_exact_evm_signature',
  [RefusalReason.deadlineExpired]: 'invalid_exact_evm_payload_authorization_valid_before',
  [RefusalReason.notYetValid]: 'invalid_exact_evm_payload_authorization_valid_after',
  [RefusalReason.insufficientBalance]: 'invalid_exact_evm_insufficient_balance',
  [RefusalReason.simulationFailed]: 'invalid_exact_evm_transaction_simulation_failed',
  [RefusalReason.nonceUsed]: 'invalid_exact_evm_nonce_already_used',
  [RefusalReason.nonceInvalidated]: 'invalid_exact_evm_nonce_already_used',
  [RefusalReason.transactionFailed]: 'invalid_exact_evm_transaction_failed',
  [RefusalReason.transferMismatch]: 'invalid_exact_evm_transfer_event_mismatch',
}

/** A reason as clients of the scheme know it. */
export function wireReason(reason: string, paymentRequirements: unknown): string {
  const isExact = (paymentRequirements as { scheme?: unknown } | null)?.scheme === 'exact'
  return isExact ? (EXACT_REASONS[reason] ?? reason) : reason
}

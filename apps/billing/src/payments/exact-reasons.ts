import { RefusalReason } from '@upfront/protocol'

/** Reasons of `exact` in @x402/evm 2.27.0. The ledger stores the reasons of `upto` for both schemes. */
const EXACT_REASONS: Readonly<Record<string, string>> = {
  [RefusalReason.invalidScheme]: 'invalid_exact_evm_scheme',
  [RefusalReason.networkMismatch]: 'invalid_exact_evm_network_mismatch',
  [RefusalReason.transactionFailed]: 'invalid_exact_evm_transaction_failed',
}

/** Reasons of EIP-3009. Permit2 uses those of `upto` otherwise. */
const EIP3009_REASONS: Readonly<Record<string, string>> = {
  [RefusalReason.invalidAmount]: 'invalid_exact_evm_authorization_value',
  [RefusalReason.amountMismatch]: 'invalid_exact_evm_payload_authorization_value_mismatch',
  [RefusalReason.recipientMismatch]: 'invalid_exact_evm_recipient_mismatch',
  [RefusalReason.invalidSignature]: 'invalid_exact_evm_signature',
  [RefusalReason.deadlineExpired]: 'invalid_exact_evm_payload_authorization_valid_before',
  [RefusalReason.notYetValid]: 'invalid_exact_evm_payload_authorization_valid_after',
  [RefusalReason.insufficientBalance]: 'invalid_exact_evm_insufficient_balance',
  [RefusalReason.simulationFailed]: 'invalid_exact_evm_transaction_simulation_failed',
  [RefusalReason.nonceUsed]: 'invalid_exact_evm_nonce_already_used',
  [RefusalReason.nonceInvalidated]: 'invalid_exact_evm_nonce_already_used',
  [RefusalReason.transferMismatch]: 'invalid_exact_evm_transfer_event_mismatch',
}

/** A reason in the words of the client's scheme. */
export function toSchemeReason(reason: string, paymentPayload: unknown, paymentRequirements: unknown): string {
  if ((paymentRequirements as { scheme?: unknown } | null)?.scheme !== 'exact') return reason
  const { payload } = (paymentPayload ?? {}) as { payload?: { permit2Authorization?: unknown } | null }
  const own = payload?.permit2Authorization === undefined ? EIP3009_REASONS[reason] : undefined
  return own ?? EXACT_REASONS[reason] ?? reason
}

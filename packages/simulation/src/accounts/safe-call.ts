import type { Address, Call, Hash, SafeTransaction, StateOverride } from '@upfront/protocol'

/** A Safe transaction as an `execTransaction` call. */
export interface SafeCall {
  call: Call
  overrides: StateOverride[]
  transaction: SafeTransaction
  version: string
  safeTxHash: Hash
  nonce: bigint
  /** The Safe's current nonce. */
  nextNonce: bigint
  threshold: bigint
  owners: Address[]
  /** Absent if the Safe has no guard. */
  guard?: Address
}

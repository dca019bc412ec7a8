import type { Address, Call, Hash, SafeTransaction, StateOverride } from '@upfront/protocol'

/** A Safe's transaction as the call that carries it out. */
export interface SafeCall {
  call: Call
  overrides: StateOverride[]
  transaction: SafeTransaction
  version: string
  safeTxHash: Hash
  nonce: bigint
  /** The Safe's next. */
  nextNonce: bigint
  threshold: bigint
  owners: Address[]
  /** Absent: it has none. */
  guard?: Address
}

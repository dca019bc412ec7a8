import type { Awaitable, Cancellation } from '@upfront/node'
import type { AccessListEntry, Address, Authorization, Hash, Hex, Withdrawal } from '@upfront/protocol'
import type { ChainRules } from '../plan/chain-rules.js'
import type { BlockEnvironment, ExecutedReceipt } from './preconfirmation-executor.js'
import type { StatePoint, StateRead } from './state.js'
import type { Step } from './step.js'

/** Implemented by engines that can carry their state from block to block. */
export interface BlockCarrier {
  /**
   * Executes a sealed block on its parent's state. If the result matches the header, the parent's cached values plus the block's writes
   * become the block's cached state; otherwise nothing of the block is kept.
   * @param at the parent's state; its layers are the part of the block that is already executed
   * @throws or rejects with the signal's reason; RpcError (HTTP 503) if too many jobs wait
   */
  carry(block: BlockToCarry, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Carried>>
  /**
   * Carries a sealed block by its access list, without executing it. A list with another hash than the header's changes nothing.
   * @param at the parent's state, without layers
   * @throws or rejects as `carry` does
   */
  carryListed(block: ListedBlock, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Carried>>
  /** Drops every state. Running work keeps the state it uses. */
  clearCache(): void
}

/** Implemented by engines that can encode blocks. */
export interface BlockEncoder {
  /**
   * Encodes a sealed block's transactions as EIP-2718 bytes, to execute them.
   * @throws or rejects with ExecutionRejected if they don't match the block's header
   */
  encode(block: BlockToCarry, cancellation: Cancellation): Awaitable<Step<Hex[]>>
}

/** A sealed block, and the results that its header demands. */
export interface BlockToCarry {
  rules: ChainRules
  /** The block's hash, key of the state after it. */
  hash: Hash
  block: BlockEnvironment
  /** All transactions of the block. */
  transactions: SealedTransaction[]
  /** Receipts of the first transactions, if these are already executed. */
  earlierReceipts: ExecutedReceipt[]
  withdrawals: Withdrawal[]
  gasUsed: bigint
  transactionsRoot: Hash
  receiptsRoot: Hash
  logsBloom: Hex
  withdrawalsRoot?: Hash
  requestsHash?: Hash
  blockAccessListHash?: Hash
  blobGasUsed?: bigint
}

/** A sealed block with its access list (EIP-7928). */
export interface ListedBlock {
  hash: Hash
  number: bigint
  /** From the header. */
  blockAccessListHash: Hash
  /** JSON, as `eth_getBlockAccessList` answers it. */
  accessList: string
}

/** A block's transaction as JSON-RPC returns it. The set of fields depends on `type`; `hash` proves them. */
export interface SealedTransaction {
  type: number
  hash: Hash
  chainId?: bigint
  nonce: bigint
  gas: bigint
  gasPrice?: bigint
  maxFeePerGas?: bigint
  maxPriorityFeePerGas?: bigint
  maxFeePerBlobGas?: bigint
  to: Address | null
  value: bigint
  input: Hex
  accessList: AccessListEntry[]
  blobVersionedHashes: Hash[]
  authorizationList: Authorization[]
  /** `v` of a legacy transaction, else the y parity. */
  v: bigint
  r: bigint
  s: bigint
  /** Set for an OP-stack deposit, which has no signature. */
  deposit?: Deposit
}

/** https://specs.optimism.io/protocol/deposits.html */
export interface Deposit {
  sourceHash: Hash
  from: Address
  mint: bigint
  isSystemTransaction: boolean
}

export type Carried =
  | {
      kind: 'carried'
      /** Number of values that the block wrote. */
      written: number
      /** Values for an audit: some that the block wrote, and some other cached ones. */
      sample: Sampled[]
    }
  | { kind: 'differs'; difference: Difference; detail: string }

/** A storage slot's value after a block. */
export interface Sampled {
  read: StateRead
  value: bigint
}

/** What differs from the header, or why execution was not possible. */
export type Difference =
  | 'transactionHash'
  | 'transactionsRoot'
  | 'withdrawalsRoot'
  /** The block's rules refuse a transaction. */
  | 'transaction'
  /** A transaction reaches code that is native to the chain's nodes (Base's B20). */
  | 'nativePrecompile'
  | 'gasUsed'
  | 'receiptsRoot'
  | 'logsBloom'
  | 'requestsHash'
  | 'blockAccessListHash'
  | 'blobGasUsed'
  /** The parent's state is no longer cached. */
  | 'parent'
  /** A value that the node returned, for this block or an earlier one, contradicts the execution. */
  | 'conflictingValue'

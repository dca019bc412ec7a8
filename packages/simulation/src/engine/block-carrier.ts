import type { Awaitable, Cancellation } from '@upfront/node'
import type { AccessListEntry, Address, Authorization, Hash, Hex, Withdrawal } from '@upfront/protocol'
import type { ChainRules } from '../plan/chain-rules.js'
import type { BlockEnvironment, ExecutedReceipt } from './preconfirmation-executor.js'
import type { StatePoint, StateRead } from './state.js'
import type { Step } from './step.js'

/** What an engine offers that can take its state from block to block. */
export interface BlockCarrier {
  /**
   * Begins to execute a sealed block on its parent's state. Where that comes to what the header says, what is held of the parent's
   * state, overlaid by what the block wrote, is held as the block's own from then on. Nothing is kept of a block that differs.
   * @param at the parent's state; its layers are what was executed of the block already
   * @throws or rejects with the signal's reason; RpcError (HTTP 503) where too much waits
   */
  carry(block: BlockToCarry, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Carried>>
  /**
   * Begins to carry a sealed block by its access list, without executing it. A list whose hash is not the header's changes nothing.
   * @param at the parent's state, without layers
   * @throws or rejects as `carry` does
   */
  lay(block: ListedBlock, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Carried>>
  /** Drops every state. What runs keeps what it stands on. */
  forget(): void
}

/** What an engine offers that can write what it carries. */
export interface BlockEncoder {
  /**
   * Begins to write a sealed block's transactions as EIP-2718 bytes, to execute them.
   * @throws or rejects with ExecutionRejected where they are not what the block's header says
   */
  encode(block: BlockToCarry, cancellation: Cancellation): Awaitable<Step<Hex[]>>
}

/** A sealed block, and what executing it must come to. */
export interface BlockToCarry {
  rules: ChainRules
  /** The key of the state after it. */
  hash: Hash
  block: BlockEnvironment
  /** All of its transactions. */
  transactions: SealedTransaction[]
  /** Receipts of the first transactions, where these were executed already. */
  earlierReceipts: ExecutedReceipt[]
  withdrawals: Withdrawal[]
  gasUsed: bigint
  transactionsRoot: Hash
  receiptsRoot: Hash
  logsBloom: Hex
  withdrawalsRoot?: Hash
  requestsHash?: Hash
  blobGasUsed?: bigint
}

/** A sealed block, and the list of what it accesses and changes (EIP-7928). */
export interface ListedBlock {
  hash: Hash
  number: bigint
  /** In its header. */
  blockAccessListHash: Hash
  /** JSON, as `eth_getBlockAccessList` answers it. */
  accessList: string
}

/** A transaction as JSON-RPC shows it in a block. Which fields are there depends on `type`; `hash` proves that they are right. */
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
  /** `v` of a legacy transaction, else the parity of `y`. */
  v: bigint
  r: bigint
  s: bigint
  /** Of an OP-stack deposit, which has no signature. */
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
      /** Values that the block wrote. */
      written: number
      /** Some of them, and some of the others that are held, for an audit. */
      sample: Sampled[]
    }
  | { kind: 'differs'; difference: Difference; detail: string }

/** A word of the state after a block. */
export interface Sampled {
  read: StateRead
  value: bigint
}

/** What does not come out as the header says, or why executing can't tell. */
export type Difference =
  | 'transactionHash'
  | 'transactionsRoot'
  | 'withdrawalsRoot'
  /** The block's rules refuse a transaction. */
  | 'transaction'
  /** A transaction reaches code that the chain's nodes have of their own (Base's B20). */
  | 'nativePrecompile'
  | 'gasUsed'
  | 'receiptsRoot'
  | 'logsBloom'
  | 'requestsHash'
  | 'blockAccessListHash'
  | 'blobGasUsed'
  /** The parent's state is no longer held. */
  | 'parent'
  /** The node answered for the block, or one before it, what executing contradicts. */
  | 'disputed'

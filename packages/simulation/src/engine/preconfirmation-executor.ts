import type { Awaitable, Cancellation } from '@upfront/node'
import type { Address, Hash, Hex } from '@upfront/protocol'
import type { BlockRules, ChainRules } from '../plan/chain-rules.js'
import type { ExecutedLog } from './engine.js'
import type { StateLayer, StatePoint } from './state.js'
import type { Step } from './step.js'

/** Implemented by engines that can follow a block under construction. */
export interface PreconfirmationExecutor {
  /**
   * Executes signed transactions in order, with full validation, on the state with all its layers.
   * @throws or rejects with ExecutionRejected if a transaction is invalid; the signal's reason
   */
  execute(execution: BlockExecution, at: StatePoint, cancellation: Cancellation): Awaitable<Step<BlockExecutionResult>>
  /**
   * Runs one transaction out of order and without validation, to cache what it reads: in parallel, transactions take few rounds. The result
   * is discarded, and a failure is no error.
   */
  prefetch(
    transaction: Hex,
    execution: BlockExecution,
    at: StatePoint,
    cancellation: Cancellation,
  ): Awaitable<Step<void>>
}

/** The next transactions of a block under construction: one flashblock. */
export interface BlockExecution {
  rules: ChainRules
  block: BlockEnvironment
  /** Whether these are the block's first transactions, preceded by its system calls. */
  opening: boolean
  /** Whether the system calls and each transaction get a layer of their own. */
  isSplit?: boolean
  /** EIP-2718 bytes of signed transactions or OP-stack deposits. */
  transactions: Hex[]
  /** Receipts of earlier executions of the same block, in order; empty when opening. */
  earlierReceipts: ExecutedReceipt[]
}

export interface BlockEnvironment {
  number: bigint
  timestamp: bigint
  parentHash: Hash
  gasLimit: bigint
  feeRecipient: Address
  prevRandao: Hash
  baseFeePerGas: bigint
  /** From Cancun on. */
  parentBeaconBlockRoot?: Hash
  excessBlobGas?: bigint
  /** From Amsterdam on. */
  slotNumber?: bigint
  extraData: Hex
  rules: BlockRules
}

export interface BlockExecutionResult {
  /** Changes of these transactions, oldest first: one layer unless split. */
  layers: StateLayer[]
  transactions: PreconfirmedTransaction[]
  /** Of these transactions only. */
  receipts: ExecutedReceipt[]
  /** Of the whole block so far, earlier executions included. */
  gasUsed: bigint
  blobGasUsed: bigint
  receiptsRoot: Hash
  logsBloom: Hex
}

export interface PreconfirmedTransaction {
  hash: Hash
  /** Recovered from the signature, or the deposit's sender. */
  from: Address
  to: Address | null
  nonce: bigint
  /** The EIP-2718 bytes. */
  raw: Hex
}

export interface ExecutedReceipt {
  type: number
  succeeded: boolean
  cumulativeGasUsed: bigint
  gasUsed: bigint
  effectiveGasPrice: bigint
  logs: ExecutedLog[]
  contractAddress: Address | null
  blobGasUsed?: bigint
  /** For a signed transaction on an OP-stack chain. */
  rollup?: RollupReceipt
  /** The consensus encoding (EIP-2718) that the receipts root commits to. */
  encoded: Hex
}

/** op-geth's receipt fields on fees, as far as the block's fork has them. */
export interface RollupReceipt {
  l1GasPrice: bigint
  l1GasUsed: bigint
  l1Fee: bigint
  l1BaseFeeScalar?: bigint
  l1BlobBaseFee?: bigint
  l1BlobBaseFeeScalar?: bigint
  /** Absent, like the constant, if both are zero. */
  operatorFeeScalar?: bigint
  operatorFeeConstant?: bigint
  daFootprintGasScalar?: bigint
}

/** A transaction that is invalid at this point of the block. */
export class ExecutionRejected extends Error {
  override readonly name = 'ExecutionRejected'
  constructor(
    message: string,
    /** Index in `transactions`. */
    readonly transaction: number,
    /** The address that it reaches, if that is code native to the chain's nodes (Base's B20), which is not executed here. */
    readonly nativePrecompile?: Address,
  ) {
    super(message)
  }
}

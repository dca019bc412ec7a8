import type { Awaitable, Cancellation } from '@upfront/node'
import type { Address, Hash, Hex } from '@upfront/protocol'
import type { BlockRules, ChainRules } from '../plan/chain-rules.js'
import type { ExecutedLog } from './engine.js'
import type { StateLayer, StatePoint } from './state.js'
import type { Step } from './step.js'

/** What an engine that can follow a block under construction offers beside `Engine`. */
export interface PreconfirmationExecutor {
  /**
   * Begins to execute signed transactions, in order and under full validation, on top of the state with all its layers.
   * @throws or rejects with ExecutionRejected where a transaction is invalid; the signal's reason
   */
  execute(execution: BlockExecution, at: StatePoint, cancellation: Cancellation): Awaitable<Step<BlockExecutionResult>>
  /**
   * Begins to run one transaction of the execution out of order, unvalidated, for what it reads: transactions warmed side by
   * side need few rounds of reads. Its result is thrown away; where it can't run, that is no error.
   */
  warm(transaction: Hex, execution: BlockExecution, at: StatePoint, cancellation: Cancellation): Awaitable<Step<void>>
}

/** The next transactions of a block under construction: one flashblock. */
export interface BlockExecution {
  rules: ChainRules
  block: BlockEnvironment
  /** The block's first transactions: its pre-execution system calls run before the transactions. */
  opening: boolean
  /** What the system calls change, and what each transaction changes, are layers of their own. */
  isSplit?: boolean
  /** EIP-2718 bytes, signed, or an OP-stack deposit. */
  transactions: Hex[]
  /** What earlier executions of the same block left, in order; empty when opening. */
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
  /** Cancun. */
  parentBeaconBlockRoot?: Hash
  excessBlobGas?: bigint
  /** Amsterdam. */
  slotNumber?: bigint
  extraData: Hex
  rules: BlockRules
}

export interface BlockExecutionResult {
  /** What these transactions changed, oldest first: one layer, unless it is split. */
  layers: StateLayer[]
  transactions: PreconfirmedTransaction[]
  /** Of these transactions alone. */
  receipts: ExecutedReceipt[]
  /** Of the whole block so far, earlier executions included. */
  gasUsed: bigint
  blobGasUsed: bigint
  receiptsRoot: Hash
  logsBloom: Hex
}

export interface PreconfirmedTransaction {
  hash: Hash
  /** Recovered from the signature, or a deposit's own. */
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
  /** Of a signed transaction on an OP-stack chain. */
  rollup?: RollupReceipt
  /** Consensus encoding (EIP-2718), from which the block's receipts root is made. */
  encoded: Hex
}

/** What an OP-stack receipt tells of its transaction's fees, as op-geth's: what the block's fork has. */
export interface RollupReceipt {
  l1GasPrice: bigint
  l1GasUsed: bigint
  l1Fee: bigint
  l1BaseFeeScalar?: bigint
  l1BlobBaseFee?: bigint
  l1BlobBaseFeeScalar?: bigint
  /** Absent, as the constant, where both are zero. */
  operatorFeeScalar?: bigint
  operatorFeeConstant?: bigint
  daFootprintGasScalar?: bigint
}

/** A transaction that the block's rules don't allow here. */
export class ExecutionRejected extends Error {
  override readonly name = 'ExecutionRejected'
  constructor(
    message: string,
    /** Index in `transactions`. */
    readonly transaction: number,
    /** What it reaches, where that is code that the chain's nodes have of their own (Base's B20), which is not executed here. */
    readonly nativePrecompile?: Address,
  ) {
    super(message)
  }
}

import type {
  AccessListEntry,
  Address,
  Authorization,
  BlockHeader,
  Hash,
  Hex,
  RpcError,
  StateOverride,
  Withdrawal,
} from '@upfront/protocol'
import type { BaseFeeParameters } from './base-fee.js'
import type { BlockRules, ChainRules } from './chain-rules.js'
import type { Probe, Recording } from './recording.js'

/** Everything that an engine needs except state: gaps filled, numbers and times checked, limits and static defaults applied. */
export interface SimulationPlan {
  rules: ChainRules
  /** The real block that the first simulated one follows. */
  base: BlockHeader
  /** Rules of `base` itself: base fee and excess blob gas are derived from it. */
  baseRules: BlockRules
  blocks: PlannedBlock[]
  /**
   * The request's fault after all of `blocks`: in the last call, or in the block that would follow. Thrown once `blocks` are executed,
   * because geth reports faults in them first.
   */
  fault?: { error: RpcError; isOfLastCall: boolean }
  validation: boolean
  traceTransfers: boolean
  /** Whether the answer lists what was touched; by default it only counts. */
  listTouched?: boolean
  /** Only the calls' outcomes are wanted, without logs, and the state they depend on. The last block is not sealed. */
  isTrial?: boolean
  /** Gas for all calls together. A call gets at most what is left. */
  gasBudget: bigint
  /**
   * OP-stack chains from Jovian on: the DA footprint scalar set by `base`'s attributes deposit. If absent, L1Block's value in the pinned
   * state is used, which is the same on a node that has that state.
   */
  daFootprintScalar?: bigint
  /** Whether blocks contain full transactions instead of hashes. */
  returnFullTransactions: boolean
  /** Limit of the answer's JSON: its pieces, and the return data of failed calls as hex. */
  answerBytes: number
  /** What is recorded of each call. */
  recording: Recording
  /** Only if calls are recorded. In the order of their calls. */
  probes?: Probe[]
}

export interface PlannedBlock {
  /** Index in the request's `blockStateCalls`; absent for a block that fills a gap. */
  requestIndex?: number
  number: bigint
  timestamp: bigint
  gasLimit: bigint
  feeRecipient: Address
  prevRandao: Hash
  /** If absent, with validation: `nextBaseFee` of the parent by `baseFeeParameters`. Without validation the planner sets 0. */
  baseFeePerGas?: bigint
  baseFeeParameters: BaseFeeParameters
  /** Value of BLOBBASEFEE, never in the header. If absent: from the block's excess blob gas. */
  blobBaseFee?: bigint
  /** From Cancun on. */
  parentBeaconBlockRoot?: Hash
  withdrawals: Withdrawal[]
  /** Empty, as in geth and op-geth. An OP-stack parent's parameters are in `baseFeeParameters`. */
  extraData: Hex
  rules: BlockRules
  /** The block's transactions and system calls have already run: calls run after them, not bounded by its gas limit. */
  isExecuted?: boolean
  stateOverrides: StateOverride[]
  calls: PlannedCall[]
}

/**
 * A call with geth's defaults as far as they don't depend on running state. `type` is that of the transaction whose hash the answer has;
 * access list, blobs and authorizations take effect with any type.
 */
export interface PlannedCall {
  type: 0 | 1 | 2 | 3 | 4
  from: Address
  to: Address | null
  input: Hex
  value: bigint
  /** If absent: the sender's nonce in the running state. */
  nonce?: bigint
  /** If absent: the block's remaining gas. */
  gas?: bigint
  /** Set for type 0 and 1. */
  gasPrice?: bigint
  /** Value of GASPRICE in wei per gas, if different from the price paid. */
  shownGasPrice?: bigint
  /** Set for types 2 to 4. */
  maxFeePerGas?: bigint
  maxPriorityFeePerGas?: bigint
  maxFeePerBlobGas?: bigint
  accessList: AccessListEntry[]
  blobVersionedHashes?: Hash[]
  authorizationList?: Authorization[]
  /** Set if the call is a transaction of a real block. */
  sealed?: SealedCall
}

/** A block's transaction, in addition to its call. */
export interface SealedCall {
  /** EIP-2718 bytes. */
  raw: Hex
  /** Wei that an OP-stack deposit mints, 0 if none. Absent for other transactions. */
  mint?: bigint
}

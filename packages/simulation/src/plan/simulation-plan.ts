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

/** All that an engine needs to know, save the state: gaps filled, numbers and times ordered, limits and static defaults applied. */
export interface SimulationPlan {
  rules: ChainRules
  /** The real block that the first simulated one follows. */
  base: BlockHeader
  /** Rules of `base` itself: base fee and excess blob gas are derived from it. */
  baseRules: BlockRules
  blocks: PlannedBlock[]
  /**
   * What is wrong with the request after all that `blocks` hold: the last call, or the block that would follow. Thrown once `blocks` were
   * executed, as geth names a fault of theirs first.
   */
  fault?: { error: RpcError; isOfLastCall: boolean }
  validation: boolean
  traceTransfers: boolean
  /** The answer lists what was touched; absent: it counts alone. */
  listTouched?: boolean
  /** Of the outcome the calls alone are wanted, without logs, and what of the state they come of: the last block is not sealed. */
  isTrial?: boolean
  /** Gas for all calls together: a call gets at most what is left of it. */
  gasBudget: bigint
  /**
   * OP-stack chains from Jovian on: the DA footprint's scalar that the attributes deposit of `base` set. Absent: what L1Block
   * holds in the pinned state, which is the same on a node that has that state.
   */
  daFootprintScalar?: bigint
  /** Blocks show their transactions whole, not by hash alone. */
  returnFullTransactions: boolean
  /** Most bytes of the answer's JSON: its pieces and the return data of failed calls, as hex. */
  answerBytes: number
  /** What is written down of each call. */
  recording: Recording
  /** Only where calls are recorded. In order of their calls. */
  probes?: Probe[]
}

export interface PlannedBlock {
  /** Index in the request's `blockStateCalls`; absent where a gap was filled. */
  requestIndex?: number
  number: bigint
  timestamp: bigint
  gasLimit: bigint
  feeRecipient: Address
  prevRandao: Hash
  /** Absent: `nextBaseFee` of the parent with `baseFeeParameters`, when validating. Without validation the planner sets 0. */
  baseFeePerGas?: bigint
  baseFeeParameters: BaseFeeParameters
  /** Absent: from the block's excess blob gas. Seen by BLOBBASEFEE; never in the header. */
  blobBaseFee?: bigint
  /** Cancun. */
  parentBeaconBlockRoot?: Hash
  withdrawals: Withdrawal[]
  /** Empty, as in geth and op-geth: what an OP-stack parent's carries is in `baseFeeParameters`. */
  extraData: Hex
  rules: BlockRules
  /** Its transactions and system calls have run: calls run after them, and its gas limit bounds none of them. */
  isExecuted?: boolean
  stateOverrides: StateOverride[]
  calls: PlannedCall[]
}

/**
 * A call with geth's defaults in all that does not depend on running state. `type` is that of the transaction whose hash
 * the answer carries; access list, blobs and authorizations take effect whatever the type.
 */
export interface PlannedCall {
  type: 0 | 1 | 2 | 3 | 4
  from: Address
  to: Address | null
  input: Hex
  value: bigint
  /** Absent: the sender's nonce in the running state. */
  nonce?: bigint
  /** Absent: what the block has left. */
  gas?: bigint
  /** Set for type 0 and 1. */
  gasPrice?: bigint
  /** What GASPRICE says, wei per unit of gas; absent: what is paid. */
  shownGasPrice?: bigint
  /** Set for types 2 to 4. */
  maxFeePerGas?: bigint
  maxPriorityFeePerGas?: bigint
  maxFeePerBlobGas?: bigint
  accessList: AccessListEntry[]
  blobVersionedHashes?: Hash[]
  authorizationList?: Authorization[]
  /** Where it is a transaction that stands in a block. */
  sealed?: SealedCall
}

/** What a transaction of a block has beside a call. */
export interface SealedCall {
  /** EIP-2718 bytes. */
  raw: Hex
  /** Of an OP-stack deposit, in wei, 0 where it mints nothing. No other transaction has it. */
  mint?: bigint
}

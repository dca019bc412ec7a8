import type { Address, BlockHeader, ErrorCode, Hash, Hex } from '@upfront/protocol'
import type { PlannedCall, SimulationPlan } from '../plan/simulation-plan.js'
import type { StateSource } from './state-source.js'

/** The seam: one crossing per request, a whole plan in, sealed blocks out. */
export interface Engine {
  readonly name: 'revm' | 'ethereumjs'
  /** Of the EVM inside, for `web3_clientVersion`. */
  readonly version: string
  /**
   * Executes and seals all blocks of the plan off the event loop.
   * @throws SimulationRejected where a call is no valid transaction; what `state.read` rejected with; the signal's reason
   * within 5 ms (revm) of its abort
   */
  simulate(plan: SimulationPlan, state: StateSource, signal: AbortSignal): Promise<SimulationOutcome>
  /** Ends its threads; what runs is rejected. */
  close(): Promise<void>
}

export interface SimulationOutcome {
  blocks: ExecutedBlock[]
  /**
   * Distinct accounts and storage slots that the calls touched, for metering: senders, recipients, created contracts,
   * access-list entries, authorities, and whatever an opcode accessed in the sense of EIP-2929, reverted or not. Precompiles,
   * the fee recipient and what system calls touch do not count unless a call touches them as above (precompiles never do).
   */
  touched: { accounts: number; slots: number }
}

export interface ExecutedBlock {
  /** Sealed: `stateRoot` is zero and `hash` is that of this very header. */
  header: BlockHeader
  /** Of the RLP-encoded block, bytes. */
  size: bigint
  /** One for each planned call, in order. */
  transactions: ExecutedTransaction[]
  calls: ExecutedCall[]
}

/** The unsigned transaction that stands for a call: signature zero, as geth has it. */
export interface ExecutedTransaction {
  hash: Hash
  nonce: bigint
  gas: bigint
  call: PlannedCall
}

export interface ExecutedCall {
  succeeded: boolean
  /** After refunds. */
  gasUsed: bigint
  /** Before refunds, at least the calldata floor. */
  maxUsedGas: bigint
  /** Empty on a halt; the revert data on a revert. */
  returnData: Hex
  /** In order, transfer logs included; empty where the call failed. */
  logs: IndexedLog[]
  /** Set where the call failed: `revert` carries its reason in `returnData`, `halt` says why in geth's words. */
  failure?: { kind: 'revert' } | { kind: 'halt'; message: string }
}

export interface ExecutedLog {
  address: Address
  topics: Hash[]
  data: Hex
}

export interface IndexedLog extends ExecutedLog {
  /**
   * The answer's `logIndex`: how many logs (transfer logs included, where they are traced) the calls of this block emitted
   * before it, those of frames and calls that reverted counted too, as geth counts. A traced transfer counts from the moment
   * its frame is entered: one that fails for lack of balance or depth has used an index.
   */
  index: number
}

/** A call that can't be executed as a transaction: the whole request fails, as in geth. */
export class SimulationRejected extends Error {
  override readonly name = 'SimulationRejected'
  constructor(
    readonly code: ErrorCode,
    /** geth's words, without the place. */
    message: string,
    /** Index in `plan.blocks`. */
    readonly block: number,
    /** Index in that block's calls; absent where its overrides are at fault. */
    readonly call?: number,
  ) {
    super(message)
  }
}

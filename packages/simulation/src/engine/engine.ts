import type { Awaitable, Cancellation, CancelSignal } from '@upfront/node'
import type { Address, BlockHeader, ErrorCode, Hash, Hex, JsonText } from '@upfront/protocol'
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
  simulate(plan: SimulationPlan, state: StateSource, signal: CancelSignal): Promise<SimulationOutcome>
  /**
   * `simulate` with the outcome as JSON, where the engine writes that itself; transactions are given by their hashes. A small
   * plan whose state is cached may be executed at once, on the caller's thread: what goes wrong is thrown then.
   */
  write?(plan: SimulationPlan, state: StateSource, cancellation: Cancellation): Awaitable<WrittenOutcome>
  /** Ends its threads; what runs is rejected. */
  close(): Promise<void>
}

export interface SimulationOutcome {
  blocks: ExecutedBlock[]
  /**
   * Distinct accounts and storage slots that the calls touched, for metering, reverted or not:
   * - senders and recipients, and the account that a recipient delegates to (EIP-7702);
   * - access-list entries, used or not;
   * - authorities of authorizations that are for this chain or any, whose nonce is below 2^64 - 1 and whose signature is
   *   valid, whether or not they then hold;
   * - contracts created, once depth, balance and nonce let the creation begin, be it that it fails then;
   * - what BALANCE, EXTCODE*, SLOAD, SSTORE, SELFDESTRUCT and calls name, and the account that a callee delegates to, each once
   *   the gas left pays for the access (EIP-2929) beside what comes first: the opcode's constant price, memory, words
   *   copied, value moved; for SSTORE its sentry of 2,300. What comes later (a new account, a slot's change, gas passed on)
   *   may fail: the access was made. What a static frame may not do accesses nothing.
   *
   * Accounts at which the block has a precompile never count (their access-list slots do). The fee recipient, withdrawals,
   * overrides and what system calls touch do not count of themselves.
   */
  touched: { accounts: number; slots: number }
}

/** An outcome as the `result` of `eth_simulateV1`, without the words of its errors: those are the presenter's. */
export interface WrittenOutcome {
  /** The JSON, cut where a failed call's `,"error":…` belongs: one piece more than there are failures. */
  pieces: JsonText[]
  /** In order. */
  failures: FailedCall[]
  /** Of all calls together, after refunds. */
  gasUsed: bigint
  touched: SimulationOutcome['touched']
}

/** What a failed call's error is made of. */
export interface FailedCall {
  /** `revert` carries its reason in `returnData`, `halt` says why in geth's words. */
  failure: { kind: 'revert' } | { kind: 'halt'; message: string }
  /** Empty on a halt. */
  returnData: Hex
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
  /** Set where the call failed. */
  failure?: FailedCall['failure']
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

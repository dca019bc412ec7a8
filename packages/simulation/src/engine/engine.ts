import type { Awaitable, Cancellation } from '@upfront/node'
import { type Address, ErrorCode, type Hash, type Hex, type JsonText, RpcError } from '@upfront/protocol'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import type { CallRecord } from './call-record.js'
import type { Halt } from './halt.js'
import type { StatePoint, StateRead, StateValue } from './state.js'
import type { Step } from './step.js'

/** The seam: executes plans and keeps the state that they read. It reads nothing itself. */
export interface Engine {
  readonly name: 'native' | 'portable'
  /** Of the EVM inside, for `web3_clientVersion`. */
  readonly version: string
  /**
   * Begins to execute and seal all blocks of the plan. A small plan whose state is known may be executed at once, on the
   * caller's thread; anything else runs off the event loop.
   * @throws or rejects with SimulationRejected where a call is no valid transaction; RpcError -32005 where the answer is longer
   * than `plan.answerBytes`, or (HTTP 503) where too many simulations wait; the signal's reason, within 5 ms (revm) of its abort
   */
  begin(plan: SimulationPlan, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Answer>>
  /** Those of the reads whose value the engine does not hold for the state with this key. */
  missing(key: Hash, reads: readonly StateRead[]): StateRead[]
  /** What the engine holds of the state with this key, in the order of `reads`. */
  known(key: Hash, reads: readonly StateRead[]): (StateValue | undefined)[]
  /** Gives it values of the state with this key ahead of work; kept within the engine's bounds. */
  provide(key: Hash, reads: readonly StateRead[], values: readonly StateValue[]): void
  /** Ends its threads; what runs is rejected. */
  close(): Promise<void>
}

/** What a plan came to: the `result` of `eth_simulateV1`, without the words of its errors, which are the presenter's. */
export interface Answer {
  /** The JSON, cut where a failed call's `,"error":…` belongs, and where any call ends that is recorded: one piece more than there are cuts. */
  pieces: JsonText[]
  /** Of each cut; undefined where the call did not fail. */
  failures: (FailedCall | undefined)[]
  /** Of all calls together, after refunds. */
  gasUsed: bigint
  touched: Touched
  /** Where the plan asks for it. */
  touchedList?: TouchedList | undefined
  /** Of a trial: the accounts, each as a whole, and the slots whose values it comes of. */
  readList?: TouchedList | undefined
  /** Of all calls, in order; empty where the plan asks for none. */
  records: CallRecord[]
}

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
export interface Touched {
  accounts: number
  slots: number
}

/** What `Touched` counts, one by one, each list in ascending order. */
export interface TouchedList {
  accounts: Address[]
  /** The account may be one that does not count itself: a precompile in an access list. */
  slots: TouchedSlot[]
}

export interface TouchedSlot {
  address: Address
  slot: Hash
}

/** What a failed call's error is made of. */
export interface FailedCall {
  failure: Failure
  /** Empty on a halt. */
  returnData: Hex
}

/**
 * A revert has its reason in `returnData`. `isGasCapped`: the call asked for more gas than the request's limit left it.
 */
export type Failure = { kind: 'revert' } | { kind: 'halt'; halt: Halt; isGasCapped: boolean }

export interface ExecutedLog {
  address: Address
  topics: Hash[]
  data: Hex
}

/** 50M gas can return 100 MB. */
export class AnswerTooLong extends RpcError {
  constructor(bytes: number) {
    super(ErrorCode.limitExceeded, `the answer's return data and logs are longer than ${bytes} bytes`)
  }
}

import type { Awaitable, Cancellation } from '@upfront/node'
import { type Address, ErrorCode, type Hash, type Hex, type JsonText, RpcError } from '@upfront/protocol'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import type { CallRecord } from './call-record.js'
import type { Halt } from './halt.js'
import type { StatePoint, StateRead, StateValue } from './state.js'
import type { Step } from './step.js'

/** The seam: executes plans and caches the state that they read. Reads nothing itself. */
export interface Engine {
  readonly name: 'native' | 'portable'
  /** The EVM's name and version, for `web3_clientVersion`. */
  readonly version: string
  /**
   * Executes and seals all blocks of the plan. A small plan with cached state may run at once, on the caller's thread; everything else runs
   * off the event loop.
   * @throws or rejects with SimulationRejected if a call is no valid transaction; RpcError -32005 if the answer exceeds `plan.answerBytes`,
   * or (HTTP 503) if too many simulations wait; the signal's reason, within 5 ms (revm) of its abort
   */
  begin(plan: SimulationPlan, at: StatePoint, cancellation: Cancellation): Awaitable<Step<Answer>>
  /** The reads whose value the engine does not have for the state with this key. */
  missing(key: Hash, reads: readonly StateRead[]): StateRead[]
  /** The cached values of the state with this key, in the order of `reads`. */
  known(key: Hash, reads: readonly StateRead[]): (StateValue | undefined)[]
  /** Passes values of the state with this key ahead of work. The cache stays within the engine's bounds. */
  provide(key: Hash, reads: readonly StateRead[], values: readonly StateValue[]): void
  /** Stops the engine's threads. Running work is rejected. */
  close(): Promise<void>
}

/** A plan's result: the `result` of `eth_simulateV1` without error messages, which the presenter adds. */
export interface Answer {
  /** The JSON, split where a failed call's `,"error":…` belongs and before each recorded call's closing brace; pieces are splits + 1. */
  pieces: JsonText[]
  /** For each split; undefined if the call did not fail. */
  failures: (FailedCall | undefined)[]
  /** Of all calls, after refunds. */
  gasUsed: bigint
  touched: Touched
  /** Set if the plan asks for it. */
  touchedList?: TouchedList | undefined
  /** For a trial: the accounts (each as a whole) and slots whose values the result depends on. */
  readList?: TouchedList | undefined
  /** Of all calls, in order; empty if the plan asks for none. */
  records: CallRecord[]
}

/**
 * Numbers of distinct accounts and storage slots that the calls touched, reverted or not, for metering:
 * - senders and recipients, and the account that a recipient delegates to (EIP-7702);
 * - access-list entries, used or not;
 * - authorities of authorizations for this chain or any, with a nonce below 2^64 - 1 and a valid signature, applied or not;
 * - created contracts, once depth, balance and nonce allow the creation to begin, even if it fails later;
 * - operands of BALANCE, EXTCODE*, SLOAD, SSTORE, SELFDESTRUCT and calls, and the account that a callee delegates to. Each counts once the
 *   gas left covers its access (EIP-2929) and what is charged before: the opcode's constant cost, memory, copied words, moved value, for
 *   SSTORE its sentry of 2,300. Later charges (a new account, a slot's change, gas passed on) may fail. Instructions that are
 *   forbidden in a static frame access nothing.
 *
 * Accounts with a precompile never count (their access-list slots do). Nor do the fee recipient, withdrawals, overrides and
 * system calls by themselves.
 */
export interface Touched {
  accounts: number
  slots: number
}

/** The accounts and slots that `Touched` counts, each list sorted. */
export interface TouchedList {
  accounts: Address[]
  /** The account need not be in `accounts`: a precompile in an access list is not. */
  slots: TouchedSlot[]
}

export interface TouchedSlot {
  address: Address
  slot: Hash
}

/** The facts for a failed call's error. */
export interface FailedCall {
  failure: Failure
  /** Empty if it halted. */
  returnData: Hex
}

/** `isGasCapped`: the call asked for more gas than the request's limit left. A revert's reason is in `returnData`. */
export type Failure = { kind: 'revert' } | { kind: 'halt'; halt: Halt; isGasCapped: boolean }

export interface ExecutedLog {
  address: Address
  topics: Hash[]
  data: Hex
}

/** 50M gas can return 100 MB, so answers are limited. */
export class AnswerTooLong extends RpcError {
  constructor(bytes: number) {
    super(ErrorCode.limitExceeded, `the answer's return data and logs are longer than ${bytes} bytes`)
  }
}

import type { Address, Hex } from '@upfront/protocol'

/** What engines record of each call, for tracers. */
export interface Recording {
  frames: boolean
  /** Accounts and slots that were read or changed. */
  state: boolean
  /** Leaves code out of the state, because it may be long. */
  withoutCode?: boolean
  /** Without `state`: only accounts that a frame sends native currency to or from, without code and slots. Requires frames. */
  balances?: boolean
  /** Each instruction; absent for none. */
  steps?: StepOptions | undefined
  /** What the instructions of each frame use (ERC-7562). Requires frames. */
  uses?: boolean
  /** The facts that decide the outcome. */
  depends?: boolean
  /** A digest of each call's effects. */
  effects?: boolean
  /** Only the records are wanted: the answer has no blocks. */
  alone?: boolean
  /** With `depends`: also find out whether the outcome is the same this many seconds later, all else equal. */
  later?: number
}

/** What is recorded of each instruction in addition to its name and cost. */
export interface StepOptions {
  stack: boolean
  memory: boolean
  /** For SLOAD and SSTORE: the slots of their contract accessed so far. */
  storage: boolean
  returnData: boolean
  /** Bytes of JSON after which recording stops; 0 for no limit. */
  limit: number
}

/** Whether anything is written down. */
export function isRecorded({ frames, state, steps, depends, effects }: Recording): boolean {
  return frames || state || steps !== undefined || depends === true || effects === true
}

/** Compared by identity in engines. */
export const NO_RECORDING: Recording = { frames: false, state: false }

/** A question to a contract, asked before and after one call, or only after it. Its state changes are discarded. */
export interface Probe {
  /** Index in the plan's blocks. */
  block: number
  /** Index in that block's calls. */
  call: number
  to: Address
  input: Hex
  isAfter?: boolean
}

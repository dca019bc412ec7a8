import type { Address, Hex } from '@upfront/protocol'

/** What engines write down of each call, for tracers. */
export interface Recording {
  frames: boolean
  /** What was read and changed. */
  state: boolean
  /** Of that, code is left out: it may be long. */
  withoutCode?: boolean
  /** Without `state`, the accounts alone that a frame sends native currency to or from, without code and slots. Only with frames. */
  balances?: boolean
  /** Each instruction; none where absent. */
  steps?: StepOptions | undefined
  /** What the instructions of each frame use (ERC-7562). Only with frames. */
  uses?: boolean
  /** What decides the outcome. */
  depends?: boolean
  /** A digest of what came of each call. */
  effects?: boolean
  /** Nothing else is wanted: the answer has no blocks. */
  alone?: boolean
  /** With what decides it: whether it comes to the same so many seconds later, in the same block else. */
  later?: number
}

/** What is written down of each instruction beside its name and price. */
export interface StepOptions {
  stack: boolean
  memory: boolean
  /** Of SLOAD and SSTORE: what they named of their contract so far. */
  storage: boolean
  returnData: boolean
  /** Bytes of JSON after which no more steps are written down; 0: none. */
  limit: number
}

/** Whether anything is written down. */
export function isRecorded({ frames, state, steps, depends, effects }: Recording): boolean {
  return frames || state || steps !== undefined || depends === true || effects === true
}

/** Shared: engines know it by identity. */
export const NO_RECORDING: Recording = { frames: false, state: false }

/** A question to a contract, asked before and after one call, or after it alone. What answering it changes is dropped. */
export interface Probe {
  /** Index in the plan's blocks. */
  block: number
  /** Index in that block's calls. */
  call: number
  to: Address
  input: Hex
  isAfter?: boolean
}

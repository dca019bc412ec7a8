import type { CancelSignal } from './cancellation.js'
import type { UpstreamError, UpstreamFault } from './upstream-fault.js'

export interface UpstreamCall<T> {
  method: string
  /** A list, or its JSON. */
  params: readonly unknown[] | string
  /** Decodes the node's `result`. @throws UpstreamFault if it is invalid: the call is tried again, then fails */
  decode(result: unknown): T
  /** `decode` accepts a long result as `ResultText`, to be passed on unchanged: one line, checked to be JSON only if `isShown`. */
  takesText?: boolean
  /** The result is shown to users unchanged. It is rejected if it contains a part of the node's URL that may be a key. */
  isShown?: boolean
  /** Most bytes of the answer. */
  maxBytes: number
  /** Most attempts, whatever the fault. */
  attempts?: number
  /**
   * Whether the node's JSON-RPC error is worth another attempt, or the most attempts. By default
   * all errors except "no such method" and "invalid params" are.
   */
  retriesError?(fault: UpstreamFault): boolean | number
  /** All nodes answer this alike, so another one may be asked while one is unusually slow. */
  mayHedge?: boolean
  /** Checked before each further attempt. */
  isWanted?(): boolean
  /** `prompt`: many requests wait for it. `slow`: it may take the node long. The two never share an HTTP request. */
  pace?: 'prompt' | 'slow'
  /** Milliseconds for one attempt, if the client's default is too short. */
  attemptTimeoutMs?: number
}

export interface CallLimits {
  /** The caller stops waiting at this `performance.now()`. */
  deadline?: number
  signal?: CancelSignal
  /** Reserves memory for a long answer that is being read. @throws if none is left */
  reserve?(bytes: number): void
}

export type CallOutcome<T> = { value: T } | { error: UpstreamError }

/** The value of a call. @throws UpstreamError if it failed */
export function unwrapOutcome<T>(outcome: CallOutcome<T>): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

import type { CancelSignal } from './cancellation.js'
import type { UpstreamError, UpstreamFault } from './upstream-fault.js'

export interface UpstreamCall<T> {
  method: string
  /** A list, or the JSON of one. */
  params: readonly unknown[] | string
  /** Makes a value of the node's `result`. @throws UpstreamFault where it makes no sense: tried again, then an error */
  decode(result: unknown): T
  /** `decode` is given a long result as `ResultText`, where it can be passed on as the node has written it: one line, of JSON only if it `isShown`. */
  takesText?: boolean
  /** The result goes to users as it is: it is refused where it holds a part of the node's URL that may be a key. */
  isShown?: boolean
  /** Most bytes that the answer may have. */
  maxBytes: number
  /** Most attempts, whatever goes wrong. */
  attempts?: number
  /**
   * Is the node's JSON-RPC error worth another attempt, or how many attempts at most? By default all but "no such method" and "invalid
   * params" are.
   */
  retriesError?(fault: UpstreamFault): boolean | number
  /** All nodes answer this alike: while one is unusually slow, another may be asked. */
  mayHedge?: boolean
  /** Asked before each further attempt. */
  isWanted?(): boolean
  /** `prompt`: many wait for it. `slow`: it may take the node long. The two don't share an HTTP request. */
  pace?: 'prompt' | 'slow'
  /** Milliseconds for one attempt, where the client's are too few. */
  attemptTimeoutMs?: number
}

export interface CallLimits {
  /** `performance.now()` at which whoever asks stops waiting. */
  deadline?: number
  signal?: CancelSignal
  /** Sees to it that there is so much memory for a long answer that is being read. @throws where there is none */
  reserve?(bytes: number): void
}

export type CallOutcome<T> = { value: T } | { error: UpstreamError }

/** What the call came to. @throws UpstreamError where it failed */
export function settled<T>(outcome: CallOutcome<T>): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

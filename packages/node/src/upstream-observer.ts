import type { CircuitState } from './circuit.js'
import type { FaultKind } from './upstream-fault.js'

export type Outcome = 'ok' | FaultKind

/** Receives events worth counting. Every method is optional, must not throw and must return quickly. */
export interface UpstreamObserver {
  /** One HTTP request ended. `upstream` is host and port. */
  onHttpRequest?(event: { upstream: string; calls: number; outcome: Outcome; milliseconds: number }): void
  /** One JSON-RPC call in a request ended. */
  onCall?(event: { upstream: string; method: string; outcome: Outcome }): void
  /** A call is about to be sent again. */
  onRetry?(event: { upstream: string; method: string; fault: FaultKind }): void
  /** A node was unusually slow, so a second one was asked too. `isFirst`: the second one answered first. */
  onHedge?(event: { upstream: string; isFirst: boolean }): void
  /** A node's circuit changed state: see `Circuit`. */
  onCircuit?(event: { upstream: string; state: CircuitState }): void
  /** Reads of state that were cached, and those that were not. */
  onReads?(event: { hits: number; misses: number }): void
  /** A node was found to lack a feature, which is worked around from now on. Once per finding. */
  onWorkaround?(event: { upstream: string; lacks: string }): void
}

import type { Cost } from './free-budget.js'

/** What a request may read, and who counts what it took. */
export interface RequestCosts {
  /** `upstreamReads`: values of state that one simulation may read from the node. */
  readonly limits: { upstreamReads: number }
  /** It is paid for. */
  readonly isSold?: boolean
  /** Counts what it took, where that is free of charge. */
  spend?(cost: Cost): void
}

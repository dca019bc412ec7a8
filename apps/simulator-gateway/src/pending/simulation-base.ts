import type { Cancellation } from '@upfront/node'
import type { BlockHeader } from '@upfront/protocol'
import type { OpeningBlock, PinnedState, TracedBlock } from '@upfront/simulation'
import type { RequestCosts } from '../limits/free-budget.js'

/** What a simulation stands on: a parent, the block under construction on it if there is one, and the state. */
export interface SimulationBase {
  base: BlockHeader
  opening?: OpeningBlock | undefined
  /** The sealed block that the state is a moment of: that of `opening`. */
  inside?: BlockHeader | undefined
  /** How many logs the transactions before it wrote. */
  earlierLogs?: number | undefined
  state: PinnedState
  /** Of work on it: the request's own, save where this is a guess at the head that may turn out wrong. */
  cancellation: Cancellation
}

export interface TimeLimits extends Cancellation {
  /** `performance.now()` at which reading ends. */
  deadline: number
  readonly costs?: RequestCosts
}

/** The block that single calls run in. */
export function tracedBlock({
  base,
  opening,
  inside,
}: Pick<SimulationBase, 'base' | 'opening' | 'inside'>): TracedBlock {
  return inside === undefined ? { base, opening } : { base: inside }
}

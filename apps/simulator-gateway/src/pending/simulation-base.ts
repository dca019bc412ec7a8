import type { Cancellation } from '@upfront/node'
import type { BlockHeader } from '@upfront/protocol'
import type { OpeningBlock, PinnedState, TracedBlock } from '@upfront/simulation'
import type { RequestCosts } from '../limits/free-budget.js'

/** The state that a simulation runs on: parent block, block under construction if there is one, and pinned state. */
export interface SimulationBase {
  base: BlockHeader
  opening?: OpeningBlock | undefined
  /** The sealed block that `state` is a position in; `opening` has the values of its header. */
  inside?: BlockHeader | undefined
  /** Number of logs of the transactions before the position. */
  earlierLogs?: number | undefined
  state: PinnedState
  /** Cancels work on this base: the request's own signal, unless the base is a guess at the head. */
  cancellation: Cancellation
}

export interface TimeLimits extends Cancellation {
  /** When reading ends, on the clock of `performance.now()`. */
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

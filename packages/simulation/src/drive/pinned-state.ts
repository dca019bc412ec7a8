import type { PinnedBlock } from '../block/pinned-block.js'
import type { StateLayer, StatePoint } from '../engine/state.js'

/** The state of a block that a node serves, with what lies above it: where an engine stands, and where it is read. */
export interface PinnedState extends StatePoint {
  readonly block: PinnedBlock
}

/** @param layers pre-confirmed state on top of the block, oldest first */
export function pinnedState(block: PinnedBlock, layers: readonly StateLayer[] = []): PinnedState {
  return { block, key: block.key, layers }
}

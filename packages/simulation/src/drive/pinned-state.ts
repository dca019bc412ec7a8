import type { PinnedBlock } from '../block/pinned-block.js'
import type { StateLayer, StatePoint } from '../engine/state.js'

/** The pinned state of a node's block with layers on top: what an engine executes on and the read loop reads. */
export interface PinnedState extends StatePoint {
  readonly block: PinnedBlock
}

/** @param layers pre-confirmed state on top of the block, oldest first */
export function pinnedState(block: PinnedBlock, layers: readonly StateLayer[] = []): PinnedState {
  return { block, key: block.key, layers }
}

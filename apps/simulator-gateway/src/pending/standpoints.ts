import { Injectable } from '@nestjs/common'
import {
  ChainState,
  type LikelyWork,
  openingOf,
  type PinnedBlock,
  type PreconfirmedSnapshot,
  parentOfNewest,
  withLayers,
} from '@upfront/chain-state'
import type { BlockHeader, BlockParameter } from '@upfront/protocol'
import type { Awaitable, OpeningBlock, SimulationPlan, StateSource } from '@upfront/simulation'
import { Preconfirmed } from './preconfirmed.js'
import type { RequestView } from './request-view.js'
import { standingOn } from './standing.js'

/** What a simulation stands on: a parent, the block under construction on it if there is one, and the state. */
export interface Standpoint {
  base: BlockHeader
  opening?: OpeningBlock | undefined
  openState(plan: SimulationPlan): StateSource
}

export interface ReadLimits {
  readonly signal: AbortSignal
  /** `performance.now()` at which reading ends. */
  deadline: number
  /** Values of state that may be read from upstream. */
  readLimit: number
}

/** Finds what a block parameter means for one request. */
@Injectable()
export class Standpoints {
  constructor(
    private readonly chain: ChainState,
    private readonly preconfirmed: Preconfirmed,
  ) {}

  /**
   * Does the work where the parameter says; anew where that block moved away meanwhile.
   * @param likely what the work will come to, to read ahead while its block is asked for
   * @throws RpcError, what `work` throws, or the signal's reason
   */
  on<T>(
    block: BlockParameter,
    view: RequestView,
    limits: ReadLimits,
    work: (standpoint: Standpoint) => Awaitable<T>,
    likely: LikelyWork,
  ): Awaitable<T> {
    if (block.kind === 'tag' && block.tag === 'pending' && this.preconfirmed.enabled) {
      const snapshot = this.preconfirmed.snapshotFor(view)
      if (snapshot) {
        view.standing = standingOn(snapshot)
        return work(this.onSnapshot(snapshot, limits))
      }
      return this.on({ kind: 'tag', tag: 'latest' }, view, limits, work, likely)
    }
    const onPinned = (pinned: PinnedBlock) => {
      view.standing = { kind: 'latest', block: pinned.header.number }
      return work(this.onPinned(pinned, limits))
    }
    return this.chain.onBlock(block, limits, onPinned, likely)
  }

  private onSnapshot(snapshot: PreconfirmedSnapshot, limits: ReadLimits): Standpoint {
    const { head, state } = snapshot
    return {
      base: parentOfNewest(snapshot),
      opening: openingOf(snapshot),
      openState: (plan) =>
        withLayers(this.chain.stateSource({ header: head, key: head.hash }, limits, plan), state.layers),
    }
  }

  private onPinned(pinned: PinnedBlock, limits: ReadLimits): Standpoint {
    return {
      base: pinned.header,
      opening: pinned.opening,
      openState: (plan) => this.chain.stateSource(pinned, limits, plan),
    }
  }
}

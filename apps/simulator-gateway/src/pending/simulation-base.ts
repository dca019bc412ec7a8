import { Injectable } from '@nestjs/common'
import { BlockResolver, type OpeningBlock } from '@upfront/head'
import type { Awaitable, Cancellation } from '@upfront/node'
import { openingOf, parentOfNewest } from '@upfront/preconfirmed'
import type { BlockHeader, BlockParameter } from '@upfront/protocol'
import { type PinnedState, pinnedState } from '@upfront/simulation'
import { FollowedChain } from '../chain/followed-chain.js'
import { answerStateOf, latestState } from './answer-state.js'
import { Preconfirmed } from './preconfirmed.js'
import type { RequestView } from './request-view.js'

/** What a simulation stands on: a parent, the block under construction on it if there is one, and the state. */
export interface SimulationBase {
  base: BlockHeader
  opening?: OpeningBlock | undefined
  state: PinnedState
  /** Of work on it: the request's own, save where this is a guess at the head that may turn out wrong. */
  cancellation: Cancellation
}

export interface TimeLimits extends Cancellation {
  /** `performance.now()` at which reading ends. */
  deadline: number
}

/** Finds what a block parameter means for one request. */
@Injectable()
export class SimulationBases {
  constructor(
    private readonly blocks: BlockResolver,
    private readonly preconfirmed: Preconfirmed,
    private readonly followed: FollowedChain,
  ) {}

  /**
   * Does the work where the parameter says; anew where that block moved away meanwhile.
   * @throws RpcError, what `work` throws, or the signal's reason
   */
  on<T>(
    block: BlockParameter,
    view: RequestView,
    limits: TimeLimits,
    work: (base: SimulationBase) => Awaitable<T>,
  ): Awaitable<T> {
    if (block.kind === 'tag' && block.tag === 'pending' && this.preconfirmed.enabled) {
      const snapshot = this.preconfirmed.snapshotFor(view)
      if (snapshot) {
        view.answerState = answerStateOf(snapshot)
        const { state } = snapshot
        return work({ base: parentOfNewest(snapshot), opening: openingOf(snapshot), state, cancellation: limits })
      }
      return this.on({ kind: 'tag', tag: 'latest' }, view, limits, work)
    }
    return this.blocks.onBlock(
      block,
      limits,
      (pinned, cancellation) =>
        work({ base: pinned.header, opening: pinned.opening, state: pinnedState(pinned), cancellation }),
      (pinned) => {
        view.answerState = latestState(pinned, this.followed.recent.isCarried(pinned.header.hash))
      },
    )
  }
}

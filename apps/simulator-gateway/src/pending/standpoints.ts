import { Injectable } from '@nestjs/common'
import { ChainState } from '@upfront/chain-state'
import type { OpeningBlock } from '@upfront/head'
import { type PinnedBlock } from '@upfront/head'
import type { Awaitable, Cancellation, CancelSignal } from '@upfront/node'
import { openingOf, type PreconfirmedSnapshot, parentOfNewest, withLayers } from '@upfront/preconfirmed'
import type { BlockHeader, BlockParameter } from '@upfront/protocol'
import type { SimulationPlan, StateSource } from '@upfront/simulation'
import { Preconfirmed } from './preconfirmed.js'
import type { RequestView } from './request-view.js'
import { standingOn } from './standing.js'

/** What a simulation stands on: a parent, the block under construction on it if there is one, and the state. */
export interface Standpoint {
  base: BlockHeader
  opening?: OpeningBlock | undefined
  openState(plan: SimulationPlan): StateSource
  /** Of work on it: the request's own, save where this is a guess at the head that may turn out wrong. */
  cancellation: Cancellation
}

export interface ReadLimits {
  readonly signal: CancelSignal
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
   * @throws RpcError, what `work` throws, or the signal's reason
   */
  on<T>(
    block: BlockParameter,
    view: RequestView,
    limits: ReadLimits,
    work: (standpoint: Standpoint) => Awaitable<T>,
  ): Awaitable<T> {
    if (block.kind === 'tag' && block.tag === 'pending' && this.preconfirmed.enabled) {
      const snapshot = this.preconfirmed.snapshotFor(view)
      if (snapshot) {
        view.standing = standingOn(snapshot)
        return work(this.onSnapshot(snapshot, limits))
      }
      return this.on({ kind: 'tag', tag: 'latest' }, view, limits, work)
    }
    return this.chain.onBlock(
      block,
      limits,
      (pinned, cancellation) => work(this.onPinned(pinned, limits, cancellation)),
      ({ header }) => {
        view.standing = { kind: 'latest', block: header.number }
      },
    )
  }

  private onSnapshot(snapshot: PreconfirmedSnapshot, limits: ReadLimits): Standpoint {
    const { head, state } = snapshot
    return {
      base: parentOfNewest(snapshot),
      opening: openingOf(snapshot),
      openState: (plan) =>
        withLayers(this.chain.stateSource({ header: head, key: head.hash }, limits, plan), state.layers),
      cancellation: limits,
    }
  }

  private onPinned(pinned: PinnedBlock, limits: ReadLimits, cancellation: Cancellation): Standpoint {
    return {
      base: pinned.header,
      opening: pinned.opening,
      openState: (plan) => this.chain.stateSource(pinned, limits, plan),
      cancellation,
    }
  }
}

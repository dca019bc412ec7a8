import type { PreconfirmedSnapshot } from '@upfront/chain'
import type { Awaitable, CallQueue } from '@upfront/node'
import type { BlockParameter } from '@upfront/protocol'
import type { PinnedBlock } from '@upfront/simulation'
import { type AnswerState, answerStateToHeader } from './answer-state.js'

/** One request's view of the chain: all its `pending` calls use the same snapshot, and all its `latest` calls the same head. */
export class RequestView {
  /** The head, once a call of the request has used it. */
  head: Awaitable<PinnedBlock> | undefined
  /** The block that each parameter was resolved to, for parameters that must keep their block while the head may move. */
  pinned: WeakMap<BlockParameter, PinnedBlock> | undefined
  /** The request is a batch: all its calls use one head, whether answered here or by the node. */
  holdsSeveral = false
  /** Bundles the batch's calls to the node; created by the first of them. */
  together: CallQueue | undefined
  /** `none` if there was no block under construction when the request first asked. */
  snapshot: PreconfirmedSnapshot | 'none' | undefined
  /** The state of the answer; for a batch, of its last call. */
  answerState: AnswerState | undefined
  /** Set if a call was passed to the node unchanged. */
  isOfNode = false
  /** Set if a fork may be active that the chain's rules do not know. */
  rulesAreUncertain = false

  /** Value of `upfront-state`: `node` if only the node knows the state; undefined if no call depends on a block. */
  get header(): string | undefined {
    if (this.answerState === undefined) return this.isOfNode ? 'node' : undefined
    return answerStateToHeader(this.answerState) + (this.rulesAreUncertain ? '; rules=uncertain' : '')
  }
}

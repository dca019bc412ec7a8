import type { PreconfirmedSnapshot } from '@upfront/chain'
import type { Awaitable, CallQueue } from '@upfront/node'
import type { BlockParameter } from '@upfront/protocol'
import type { PinnedBlock } from '@upfront/simulation'
import { type AnswerState, answerStateToHeader } from './answer-state.js'

/**
 * One request's look at the chain: whatever in it asks for `pending` stands on one and the same snapshot, and whatever asks for `latest` on one
 * and the same head.
 */
export class RequestView {
  /** The head, once something in the request stood on it. */
  head: Awaitable<PinnedBlock> | undefined
  /** What parameters of the request mean that stand for one block while it may move: by the parameter itself. */
  pinned: WeakMap<BlockParameter, PinnedBlock> | undefined
  /** The request holds several calls: they stand on one head, whoever answers them. */
  holdsSeveral = false
  /** Sends what several calls ask of the node, once one of them does. */
  together: CallQueue | undefined
  /** `none` where `pending` was the canonical head when the request first asked. */
  snapshot: PreconfirmedSnapshot | 'none' | undefined
  /** What the answer stands on; of a batch, its last call. */
  answerState: AnswerState | undefined
  /** Set where a call was passed on to the node as it came. */
  isOfNode = false
  /** Set where a fork may be active that the chain's rules do not have. */
  rulesAreUncertain = false

  /** Of `upfront-state`: `node` where the node alone knows; undefined where nothing in the request stands on a block. */
  get header(): string | undefined {
    if (this.answerState === undefined) return this.isOfNode ? 'node' : undefined
    return answerStateToHeader(this.answerState) + (this.rulesAreUncertain ? '; rules=uncertain' : '')
  }
}

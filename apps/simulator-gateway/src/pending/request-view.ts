import type { PreconfirmedSnapshot } from '@upfront/preconfirmed'
import type { AnswerState } from './answer-state.js'

/** One HTTP request's look at the chain: whatever in it asks for `pending` stands on one and the same snapshot. */
export class RequestView {
  /** `none` where `pending` was the canonical head when the request first asked. */
  snapshot: PreconfirmedSnapshot | 'none' | undefined
  /** What the answer stands on; of a batch, its last call. */
  answerState: AnswerState | undefined
}

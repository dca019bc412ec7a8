import type { Rejection } from '@upfront/simulation'

/** A call or a block that can't be executed. Whoever catches it knows its place in the plan. */
export class CallRejected extends Error {
  override readonly name = 'CallRejected'
  constructor(readonly rejection: Rejection) {
    super(rejection.kind)
  }
}

import type { ErrorCode } from '@upfront/protocol'

/** A call or a block that can't be executed. Whoever catches it knows its place in the plan. */
export class CallRejected extends Error {
  override readonly name = 'CallRejected'
  constructor(
    readonly code: ErrorCode,
    /** geth's words. */
    message: string,
  ) {
    super(message)
  }
}

import type { ErrorCode } from '@upfront/protocol'

/** A call or a block that can't be executed, before anybody knows which one of the plan it is. */
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

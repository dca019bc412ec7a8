import { ErrorCode, RpcError } from '@upfront/protocol'

/** The gateway has too much work to take on more: HTTP 503. The client may try again after `retryAfterSeconds`. */
export class Overloaded extends RpcError {
  readonly retryAfterSeconds = 1
  constructor(message: string) {
    super(ErrorCode.limitExceeded, message, undefined, 503)
  }
}

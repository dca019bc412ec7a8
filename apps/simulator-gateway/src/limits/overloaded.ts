import { ErrorCode, RpcError } from '@upfront/protocol'

/** More work than the gateway takes on: HTTP 503, to be tried again after `retryAfterSeconds`. */
export class Overloaded extends RpcError {
  readonly retryAfterSeconds = 1
  constructor(message: string) {
    super(ErrorCode.limitExceeded, message, undefined, 503)
  }
}

import { ErrorCode, RpcError } from '@upfront/protocol'

/** When a client may try again after HTTP 503. */
export const RETRY_AFTER_SECONDS = '1'

/** The gateway has too much work to take on more: HTTP 503. The client may try again after `retryAfterSeconds`. */
export class Overloaded extends RpcError {
  readonly retryAfterSeconds = Number(RETRY_AFTER_SECONDS)
  constructor(message: string) {
    super(ErrorCode.limitExceeded, message, undefined, 503)
  }
}

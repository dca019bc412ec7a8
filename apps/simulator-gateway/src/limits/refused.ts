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

/** A request that is wrong as a whole: -32600, with this HTTP status. */
export function refused(status: number, message: string): RpcError {
  return new RpcError(ErrorCode.invalidRequest, message, undefined, status)
}

/** HTTP 429: the client has used up what it may have for free. */
export class RateLimited extends RpcError {
  constructor(
    message: string,
    readonly retryAfterSeconds: number,
    /** How many times as many calls as it may have it made in this second. */
    readonly times = 1,
  ) {
    super(ErrorCode.limitExceeded, message, undefined, 429)
  }
}

/** The reason to stop work for a client that closed its connection. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
  constructor() {
    super('the client closed the connection')
  }
}

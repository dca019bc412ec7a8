import { ErrorCode, RpcError } from '@upfront/protocol'

/** `Retry-After` of HTTP 503, in seconds. */
export const RETRY_AFTER_SECONDS = '1'

/** HTTP 503: the gateway has too much work. The client may retry after `retryAfterSeconds`. */
export class Overloaded extends RpcError {
  readonly retryAfterSeconds = Number(RETRY_AFTER_SECONDS)
  constructor(message: string) {
    super(ErrorCode.limitExceeded, message, undefined, 503)
  }
}

/** An error for a request that is invalid as a whole: -32600 with this HTTP status. */
export function refused(status: number, message: string): RpcError {
  return new RpcError(ErrorCode.invalidRequest, message, undefined, status)
}

/** HTTP 429: the client has used up its free budget. */
export class RateLimited extends RpcError {
  constructor(
    message: string,
    readonly retryAfterSeconds: number,
    /** The calls of this second, as a multiple of the client's limit. */
    readonly times = 1,
  ) {
    super(ErrorCode.limitExceeded, message, undefined, 429)
  }
}

/** The reason to cancel the work of a client that closed its connection. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
  constructor() {
    super('the client closed the connection')
  }
}

import type { ServerResponse } from 'node:http'
import { ErrorCode, RpcError } from '@upfront/protocol'

/** Why work was stopped when nobody waits for its answer any more. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
  constructor() {
    super('the client closed the connection')
  }
}

/** From the moment a request is read until its answer is ready: aborted after `timeoutMs`, or when the client has gone. */
export class RequestLifetime {
  private readonly controller = new AbortController()
  private readonly timer: NodeJS.Timeout
  /** When it ends, by `performance.now()`. */
  readonly deadline: number
  private readonly onClose = () => this.controller.abort(new ClientGone())

  constructor(
    private readonly response: ServerResponse,
    timeoutMs: number,
  ) {
    this.deadline = performance.now() + timeoutMs
    this.timer = setTimeout(() => {
      this.controller.abort(new RpcError(ErrorCode.limitExceeded, `the request took longer than ${timeoutMs} ms`))
    }, timeoutMs)
    response.once('close', this.onClose)
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  end(): void {
    clearTimeout(this.timer)
    this.response.off('close', this.onClose)
  }
}

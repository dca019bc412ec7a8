import type { Writable } from 'node:stream'
import { ErrorCode, RpcError } from '@upfront/protocol'

/** Why work was stopped when nobody waits for its answer any more. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
  constructor() {
    super('the client closed the connection')
  }
}

/**
 * From the moment a request is read until its answer is ready: aborted after `timeoutMs`, or when the client has gone. Most
 * requests are answered at once and never ask for the signal: it is made where they do.
 */
export class RequestLifetime {
  /** When it ends, by `performance.now()`. */
  readonly deadline: number
  private controller: AbortController | undefined
  private timer: NodeJS.Timeout | undefined
  private readonly onClose = () => this.controller?.abort(new ClientGone())

  constructor(
    private readonly response: Writable,
    private readonly timeoutMs: number,
  ) {
    this.deadline = performance.now() + timeoutMs
  }

  get signal(): AbortSignal {
    this.controller ??= this.watch()
    return this.controller.signal
  }

  end(): void {
    if (this.controller === undefined) return
    clearTimeout(this.timer)
    this.response.off('close', this.onClose)
  }

  private watch(): AbortController {
    const controller = new AbortController()
    const { response, timeoutMs } = this
    // Not what is left of it, a little less: Node keeps timers of one length in one list, which all requests then share.
    this.timer = setTimeout(() => {
      controller.abort(new RpcError(ErrorCode.limitExceeded, `the request took longer than ${timeoutMs} ms`))
    }, timeoutMs)
    if (response.closed) controller.abort(new ClientGone())
    else response.once('close', this.onClose)
    return controller
  }
}

import type { Writable } from 'node:stream'
import { type Cancellation, Canceller, type CancelSignal } from '@upfront/node'
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
export class RequestLifetime implements Cancellation {
  /** When it ends, by `performance.now()`. */
  readonly deadline: number
  private canceller: Canceller | undefined
  private timer: NodeJS.Timeout | undefined
  private readonly onClose = () => this.canceller?.cancel(new ClientGone())

  constructor(
    private readonly response: Writable,
    private readonly timeoutMs: number,
  ) {
    this.deadline = performance.now() + timeoutMs
  }

  get signal(): CancelSignal {
    this.canceller ??= this.watch()
    return this.canceller.signal
  }

  end(): void {
    if (this.canceller === undefined) return
    clearTimeout(this.timer)
    this.response.off('close', this.onClose)
  }

  private watch(): Canceller {
    const canceller = new Canceller()
    const { response, timeoutMs } = this
    // Not what is left of it, a little less: Node keeps timers of one length in one list, which all requests then share.
    this.timer = setTimeout(() => {
      canceller.cancel(new RpcError(ErrorCode.limitExceeded, `the request took longer than ${timeoutMs} ms`))
    }, timeoutMs)
    if (response.closed) canceller.cancel(new ClientGone())
    else response.once('close', this.onClose)
    return canceller
  }
}

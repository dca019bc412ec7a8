import type { Writable } from 'node:stream'
import { type Cancellation, Canceller, type CancelSignal } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { ClientGone } from './client-gone.js'
import type { Memory } from './memory.js'
import type { MemoryGuard, Running } from './memory-guard.js'

/**
 * The time from a request's arrival to its answer. Its signal aborts after `timeoutMs`, or when the client has gone; it is made
 * only when it is asked for, because most requests are answered without it.
 */
export class RequestLifetime implements Cancellation, Running {
  /** When it ends, by `performance.now()`. */
  readonly deadline: number
  private canceller: Canceller | undefined
  private timer: NodeJS.Timeout | undefined
  private reserved = 0
  private isRunning = false
  private workBytes = 0
  private readonly onClose = () => this.canceller?.cancel(new ClientGone())

  constructor(
    private readonly response: Writable,
    private readonly timeoutMs: number,
    readonly client: string,
    private readonly limits: { memory: Memory; guard: MemoryGuard },
  ) {
    this.deadline = performance.now() + timeoutMs
  }

  get signal(): CancelSignal {
    this.canceller ??= this.start()
    return this.canceller.signal
  }

  get bytes(): number {
    return this.workBytes + this.reserved
  }

  /** The request has its turn: from now on it may be ended where memory is short. @param bytes that work on its body may take */
  begin(bytes: number): void {
    this.isRunning = true
    this.workBytes = bytes
    if (this.canceller !== undefined) this.limits.guard.watch(this)
  }

  /** Takes memory for work on the request, until `release` or the end. @throws Overloaded where there is none */
  reserve(bytes: number): void {
    this.limits.memory.take(bytes)
    this.reserved += bytes
  }

  release(): void {
    this.limits.memory.give(this.reserved)
    this.reserved = 0
  }

  cancel(reason: Error): void {
    this.canceller?.cancel(reason)
  }

  end(): void {
    this.release()
    if (this.canceller === undefined) return
    this.limits.guard.leave(this)
    clearTimeout(this.timer)
    this.response.off('close', this.onClose)
  }

  private start(): Canceller {
    const canceller = new Canceller()
    const { response, timeoutMs } = this
    if (this.isRunning) this.limits.guard.watch(this)
    // All of `timeoutMs`, though some of it has passed: Node keeps timers of one length in one list.
    this.timer = setTimeout(() => {
      canceller.cancel(new RpcError(ErrorCode.limitExceeded, `the request took longer than ${timeoutMs} ms`))
    }, timeoutMs)
    if (response.closed) canceller.cancel(new ClientGone())
    else response.once('close', this.onClose)
    return canceller
  }
}

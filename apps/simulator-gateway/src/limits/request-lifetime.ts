import type { Writable } from 'node:stream'
import { type Cancellation, Canceller, type CancelSignal } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { Memory } from './memory.js'
import type { MemoryGuard, Running } from './memory-guard.js'
import { ClientGone } from './refused.js'

/**
 * A request from arrival to answer. Its signal aborts after `timeoutMs`, or when the client disconnects. The signal is created on first
 * use, because most requests never need it.
 */
export class RequestLifetime implements Cancellation, Running {
  /** When it times out, on the clock of `performance.now()`. */
  readonly deadline: number
  #canceller: Canceller | undefined
  #timer: NodeJS.Timeout | undefined
  #reserved = 0
  #kept = 0
  #isRunning = false
  #workBytes = 0
  readonly #onClose = () => this.#canceller?.cancel(new ClientGone())
  readonly #response: Writable
  readonly #timeoutMs: number
  readonly #limits: { memory: Memory; guard: MemoryGuard }

  constructor(
    response: Writable,
    timeoutMs: number,
    readonly client: string,
    limits: { memory: Memory; guard: MemoryGuard },
  ) {
    this.#response = response
    this.#timeoutMs = timeoutMs
    this.#limits = limits
    this.deadline = performance.now() + timeoutMs
  }

  get signal(): CancelSignal {
    this.#canceller ??= this.#start()
    return this.#canceller.signal
  }

  get bytes(): number {
    return this.#workBytes + this.#reserved + this.#kept
  }

  /** The request has its turn: from now on it may be cancelled if memory is short. @param bytes memory for work on its body */
  begin(bytes: number): void {
    this.#isRunning = true
    this.#workBytes = bytes
    if (this.#canceller !== undefined) this.#limits.guard.watch(this)
  }

  /** Reserves memory for work under way, `bytes` in total, until `release` or the end. @throws Overloaded if there is none */
  reserve(bytes: number): void {
    const more = bytes - this.#reserved
    if (more <= 0) return
    this.#limits.memory.take(more)
    this.#reserved = bytes
  }

  /** Counts memory already in use, until `release` or the end. @throws Overloaded if there is none */
  keep(bytes: number): void {
    this.#limits.memory.take(bytes)
    this.#kept += bytes
  }

  release(): void {
    this.#limits.memory.give(this.#reserved + this.#kept)
    this.#reserved = 0
    this.#kept = 0
  }

  cancel(reason: Error): void {
    this.#canceller?.cancel(reason)
  }

  end(): void {
    this.release()
    if (this.#canceller === undefined) return
    this.#limits.guard.leave(this)
    clearTimeout(this.#timer)
    this.#response.off('close', this.#onClose)
  }

  #start(): Canceller {
    const canceller = new Canceller()
    const response = this.#response
    const timeoutMs = this.#timeoutMs
    if (this.#isRunning) this.#limits.guard.watch(this)
    // The full `timeoutMs` although some of it has passed: Node keeps timers of equal length in one list.
    this.#timer = setTimeout(() => {
      canceller.cancel(new RpcError(ErrorCode.limitExceeded, `the request took longer than ${timeoutMs} ms`))
    }, timeoutMs)
    if (response.closed) canceller.cancel(new ClientGone())
    else response.once('close', this.#onClose)
    return canceller
  }
}

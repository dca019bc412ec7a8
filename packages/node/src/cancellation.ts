/** Says when work is to end: what this project uses of an AbortSignal, so that one of those will do. */
export interface CancelSignal {
  readonly aborted: boolean
  /** Why; undefined until it aborts. */
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: () => void, options?: { once: true }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Holds the signal that ends the work, to be made only where it is asked for: work that is done at once never asks. */
export interface Cancellation {
  readonly signal: CancelSignal
}

/**
 * An AbortController for the path of every request. Node's makes an event target for each, of a shape that V8 never saw: with
 * one in every request that reads state, a tenth of the CPU went there.
 */
export class Canceller implements Cancellation {
  readonly #signal = new Signal()
  readonly signal: CancelSignal = this.#signal

  /** Listeners are called at once, in order, each once. They are not to throw. */
  cancel(reason: unknown): void {
    this.#signal.abort(reason)
  }
}

class Signal implements CancelSignal {
  aborted = false
  reason: unknown = undefined
  private readonly listeners: (() => void)[] = []

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const { listeners } = this
    const index = listeners.lastIndexOf(listener)
    if (index === listeners.length - 1) listeners.pop()
    else if (index >= 0) listeners.splice(index, 1)
  }

  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    for (let next = this.listeners.shift(); next !== undefined; next = this.listeners.shift()) next()
  }
}

/** What the work comes to, or, if that is sooner, the signal's reason. The work itself goes on. */
export function unlessAborted<T>(work: Promise<T>, signal: CancelSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** Says when work is to end. The part of an AbortSignal that this project uses, so an AbortSignal is one. */
export interface CancelSignal {
  readonly aborted: boolean
  /** Why; undefined until it aborts. */
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: () => void, options?: { once: true }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Has a signal that may be made only when it is first asked for: work that is done at once never asks. */
export interface Cancellation {
  readonly signal: CancelSignal
}

/**
 * An AbortController for the path of every request: Node's makes an event target each time, which costs more than a small
 * simulation's reads.
 */
export class Canceller implements Cancellation {
  readonly #signal = new Signal()
  readonly signal: CancelSignal = this.#signal

  /** Listeners are called at once, in order, each once. They must not throw. */
  cancel(reason: unknown): void {
    this.#signal.abort(reason)
  }
}

class Signal implements CancelSignal {
  aborted = false
  reason: unknown = undefined
  readonly #listeners: (() => void)[] = []

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.#listeners.lastIndexOf(listener)
    if (index >= 0) this.#listeners.splice(index, 1)
  }

  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    for (let next = this.#listeners.shift(); next !== undefined; next = this.#listeners.shift()) next()
  }
}

/**
 * Calls `listener` once when the signal aborts, at once where it already has. Returns a function that takes the listener
 * off again: to be called when the work ends, or signals that outlive it keep the listener.
 */
export function onAbort(signal: CancelSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => undefined
  if (signal.aborted) {
    listener()
    return () => undefined
  }
  // One request may wait for hundreds of reads at once: that many listeners are no leak.
  if (signal instanceof EventTarget) setMaxListeners(0, signal)
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** Waits so many milliseconds. @throws the signal's reason, once it aborts */
export function pause(milliseconds: number, signal?: CancelSignal): Promise<void> {
  if (signal === undefined) return sleep(milliseconds)
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      takeOff()
      resolve()
    }, milliseconds)
    const takeOff = onAbort(signal, () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** Signals that work should end. The subset of AbortSignal that this project uses, so every AbortSignal is one. */
export interface CancelSignal {
  readonly aborted: boolean
  /** The reason; undefined until aborted. */
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: () => void, options?: { once: true }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Provides a signal that may be created on first use: work that finishes synchronously never needs it. */
export interface Cancellation {
  readonly signal: CancelSignal
}

/** An AbortController for the hot path. Node's creates an event target each time, which costs more than the reads of a small simulation. */
export class Canceller implements Cancellation {
  readonly #signal = new Signal()
  readonly signal: CancelSignal = this.#signal

  /** Calls each listener once, synchronously and in order. They must not throw. */
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
 * Calls `listener` once when the signal aborts, or at once if it already has.
 * @returns a function that removes the listener. Call it when the work ends, or a signal that outlives the work keeps the listener.
 */
export function onAbort(signal: CancelSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => undefined
  if (signal.aborted) {
    listener()
    return () => undefined
  }
  // One request may wait for hundreds of reads at once, so many listeners are not a leak.
  if (signal instanceof EventTarget) setMaxListeners(0, signal)
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** Waits for the given time. @throws the signal's reason, once it aborts */
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

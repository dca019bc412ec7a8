import { setMaxListeners } from 'node:events'
import type { Awaitable } from '@upfront/simulation'
import type { CallLimits } from './upstream-client.js'

/** Node keeps timers by their length: those of many requests get one list, not one each, where lengths are rounded. */
const TIMER_STEP_MS = 50

function timerLength(milliseconds: number): number {
  return Math.max(0, Math.ceil(milliseconds / TIMER_STEP_MS) * TIMER_STEP_MS)
}

/**
 * What `shared` comes to, or, if that is sooner, the signal's reason or `late()` at the deadline. The shared work itself
 * goes on: others may wait for it.
 */
export function within<T>(shared: Awaitable<T>, limits: CallLimits, late: () => Error): Awaitable<T> {
  if (!(shared instanceof Promise)) return shared
  const { signal, deadline } = limits
  if (signal === undefined && deadline === undefined) return shared
  return new Promise<T>((resolve, reject) => {
    if (signal instanceof EventTarget) setMaxListeners(0, signal)
    const timer =
      deadline === undefined
        ? undefined
        : setTimeout(() => end(reject, late()), timerLength(deadline - performance.now()))
    const onAbort = () => end(reject, signal?.reason)
    const end = <V>(settle: (value: V) => void, value: V) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      settle(value)
    }
    if (signal?.aborted) return onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    shared.then(
      (value) => end(resolve, value),
      (reason) => end(reject, reason),
    )
  })
}

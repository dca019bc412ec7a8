import { setMaxListeners } from 'node:events'
import type { Awaitable } from './awaitable.js'
import { deadline, met } from './deadline.js'
import type { CallLimits } from './upstream-client.js'

/**
 * What `shared` comes to, or, if that is sooner, the signal's reason or `late()` at the deadline. The shared work itself
 * goes on: others may wait for it.
 */
export function within<T>(shared: Awaitable<T>, limits: CallLimits, late: () => Error): Awaitable<T> {
  if (!(shared instanceof Promise)) return shared
  const { signal, deadline: at } = limits
  if (signal === undefined && at === undefined) return shared
  return new Promise<T>((resolve, reject) => {
    if (signal instanceof EventTarget) setMaxListeners(0, signal)
    const set = at === undefined ? undefined : deadline(at, () => end(reject, late()))
    const onAbort = () => end(reject, signal?.reason)
    const end = <V>(settle: (value: V) => void, value: V) => {
      if (set !== undefined) met(set)
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

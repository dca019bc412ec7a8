import type { Awaitable } from './awaitable.js'
import { type CancelSignal, onAbort } from './cancellation.js'
import type { CallLimits } from './upstream-call.js'

/** Longest timeout of a timer, milliseconds (24 days). A longer one fires at once. */
const MAX_WAIT = 2 ** 31 - 1

/**
 * Settles like `shared`, but rejects early with the signal's reason, or with `late()` at the
 * deadline. The shared work continues: others may wait for it.
 */
export function withinLimits<T>(shared: Awaitable<T>, limits: CallLimits, late: () => Error): Awaitable<T> {
  if (!(shared instanceof Promise)) return shared
  const { signal, deadline: at } = limits
  if (signal === undefined && at === undefined) return shared
  return new Promise<T>((resolve, reject) => {
    let takeOff = () => {}
    const wait = (at ?? Number.POSITIVE_INFINITY) - performance.now()
    const timer = wait > MAX_WAIT ? undefined : setTimeout(() => end(reject, late()), wait)
    const end = <V>(settle: (value: V) => void, value: V) => {
      clearTimeout(timer)
      takeOff()
      settle(value)
    }
    takeOff = onAbort(signal, () => end(reject, signal?.reason))
    shared.then(
      (value) => end(resolve, value),
      (reason) => end(reject, reason),
    )
  })
}

/** Settles like `work`, but rejects early with the signal's reason. The work itself continues. */
export function raceAbort<T>(work: Promise<T>, signal: CancelSignal | undefined): Promise<T> {
  return withinLimits(work, signal === undefined ? {} : { signal }, () => new Error('late')) as Promise<T>
}

/** Whether the work is still under way after so many milliseconds. Never rejects. */
export function isSlowerThan(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), milliseconds)
    const end = () => {
      clearTimeout(timer)
      resolve(false)
    }
    work.then(end, end)
  })
}

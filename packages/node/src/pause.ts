import { setTimeout as sleep } from 'node:timers/promises'
import type { CancelSignal } from './cancellation.js'

/** Waits so long. @throws the signal's reason, once it aborts */
export function pause(milliseconds: number, signal: CancelSignal | undefined): Promise<void> {
  if (signal === undefined) return sleep(milliseconds)
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, milliseconds)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

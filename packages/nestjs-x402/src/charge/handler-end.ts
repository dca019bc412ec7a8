import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { HeldResponse } from '../hold/held-response.js'
import type { PaidRequest } from './paid-request.js'

/** How a paid handler ended. */
export type HandlerEnd =
  /** The answer is complete, or longer than `holdBytes`. */
  | { kind: 'answered'; status: number }
  | { kind: 'timeout' }
  /** The client left first, or the handler's stream broke off. */
  | { kind: 'partial' }

const PARTIAL: HandlerEnd = { kind: 'partial' }

/** Waits for the handler's answer or the time-out. After the client has left, waits for the handler to return or throw. */
export async function handlerEnd(
  { held, payment, response }: { held: HeldResponse; payment: PaidRequest; response: ServerResponse },
  timeout: number,
): Promise<HandlerEnd> {
  const over = new AbortController()
  const { signal } = over
  let gone = false
  const answered = (): HandlerEnd =>
    gone && (payment.gaveUp || held.status < 400) ? PARTIAL : { kind: 'answered', status: held.status }
  const timedOut = sleep(timeout, undefined, { signal }).then((): HandlerEnd => {
    payment.abort('the time-out of the paid route has passed')
    return { kind: 'timeout' }
  })
  const closed = new Promise((resolve) => response.once('close', resolve))
  const left = closed.then(async (): Promise<HandlerEnd> => {
    if (signal.aborted) return PARTIAL
    gone = true
    payment.abort('the client is gone')
    await payment.handled
    // The framework writes the answer, if any, in the turn of the event loop after the handler ended.
    await nextTurn()
    return held.ended ? answered() : PARTIAL
  })
  const ended = held.end.then((end) => (end === 'cut' ? PARTIAL : answered()))
  try {
    return await Promise.race([ended, timedOut, left])
  } finally {
    over.abort()
  }
}

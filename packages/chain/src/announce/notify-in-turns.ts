import type { EventLoopTurn } from '@upfront/node'

/** Most events given to a listener in one call. */
const EVENTS_PER_TURN = 128

/**
 * Gives each listener its events over several turns of the event loop, because there may be thousands of both. All listeners get one part
 * before any gets the next, so that each connection can be read in between.
 * @param tell receives some of a listener's events, in order
 */
export async function notifyInTurns<L, T>(
  told: readonly (readonly [L, readonly T[]])[],
  turn: EventLoopTurn,
  tell: (listener: L, events: readonly T[]) => void,
): Promise<void> {
  const most = told.reduce((longest, [, events]) => Math.max(longest, events.length), 0)
  for (let at = 0; at < most; at += EVENTS_PER_TURN) {
    if (at > 0) await turn.yieldNow()
    for (const [listener, events] of told) {
      if (at >= events.length) continue
      tell(listener, events.slice(at, at + EVENTS_PER_TURN))
      await turn.yieldIfLong()
    }
  }
}

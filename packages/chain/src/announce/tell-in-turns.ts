import type { Turn } from '@upfront/node'

/** Events that a listener is given at once. */
const GIVEN_AT_ONCE = 128

/**
 * Tells each listener what is for it, in turns of the event loop, as there may be thousands of listeners and of events. Part by part for all, so
 * that each connection can be read in between.
 * @param tell is given some of a listener's events, in their order
 */
export async function tellInTurns<L, T>(
  told: readonly (readonly [L, readonly T[]])[],
  turn: Turn,
  tell: (listener: L, events: readonly T[]) => void,
): Promise<void> {
  const most = told.reduce((longest, [, events]) => Math.max(longest, events.length), 0)
  for (let at = 0; at < most; at += GIVEN_AT_ONCE) {
    if (at > 0) await turn.end()
    for (const [listener, events] of told) {
      if (at >= events.length) continue
      tell(listener, events.slice(at, at + GIVEN_AT_ONCE))
      await turn.pass()
    }
  }
}

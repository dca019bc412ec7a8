import { TurnQueue } from '@upfront/node'

/** One long body or message (over `SMALL_BYTES`) is read on per turn of the event loop: thousands may arrive at once. */
export const LONG_BODIES = new TurnQueue()

import { TurnQueue } from '@upfront/node'

/** Thousands of bodies and messages of more than `SMALL_BYTES` may arrive at once: in each turn of the event loop one of them is read on. */
export const LONG_BODIES = new TurnQueue()

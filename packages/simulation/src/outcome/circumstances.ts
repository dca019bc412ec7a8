import { type DecidingFact, REACHED } from '../engine/call-record.js'

/** Other circumstances that may well occur. */
export interface Circumstances {
  /** Description. */
  under: string
  /** Whether the fact changes under them. */
  changesFact(fact: DecidingFact): boolean
  /**
   * `surroundings`: fields in which simulations differ from real blocks; `gas`: less gas, so a failure proves nothing; `course`: time
   * passing.
   */
  category: 'surroundings' | 'gas' | 'course'
}

/** How much later a call is tried, in seconds. */
export const SECONDS_LATER = 60

/** All bits except the recipient's. */
const ALL_BUT_RECIPIENT = ~REACHED.recipient

/** Whether the fact's value decides anything. */
export function isDeciding({ reached }: DecidingFact): boolean {
  return (reached & ALL_BUT_RECIPIENT) !== 0
}

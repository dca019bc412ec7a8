import { type DecidingFact, REACHED } from '../engine/call-record.js'

/** Other circumstances that could well come. */
export interface Circumstances {
  /** In words. */
  under: string
  /** Whether a fact is another one then. */
  concerns(fact: DecidingFact): boolean
  /** `surroundings`: what a simulation has otherwise than a block; `gas`: less of it, so that a failure says nothing. */
  of: 'surroundings' | 'gas' | 'course'
}

/** How much later a call is tried. */
export const SECONDS_LATER = 60

/** All but naming whom a transfer goes to. */
const DECIDES = ~REACHED.recipient

/** Whether what the fact is decides anything. */
export function decides({ reached }: DecidingFact): boolean {
  return (reached & DECIDES) !== 0
}

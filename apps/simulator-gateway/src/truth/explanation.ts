import { type Hex, toQuantity } from '@upfront/protocol'
import { differenceOf, type ShownFact } from '@upfront/simulation'
import type { FoundFact, Result, Run } from './run.js'

/** The part of a prediction that was wrong. */
export type Part = 'status' | 'gas' | 'transfers'

/**
 * Why a prediction was wrong.
 * `dependency`: state that `depends` names had changed.
 * `block`: only a field of the block had, because another block came between.
 * `rule`: a slot or account that it writes had changed, so the write cost different gas.
 * `ours`: run at its own place, our engine disagrees with the chain.
 * `unnamed`: it agrees there, and nothing named had changed.
 * `unknown`: it could not be run there.
 */
export type Reason = 'dependency' | 'block' | 'rule' | 'ours' | 'unnamed' | 'unknown'

export interface ChangedFact {
  fact: ShownFact
  predicted: Hex
  found: Hex
  /** The cause of the change: the block itself, a transaction before it in the block, or an earlier block. */
  by: 'the block' | 'a transaction before' | 'a block between'
}

export interface Explanation {
  why: Reason
  /** The first of the changed facts behind `why`. */
  because: ChangedFact[]
  /**
   * Whether repeating the prediction with the values found gives the mined outcome: with one fact `alone`, with all changed facts
   * `together`, or with `neither`. Absent if it could not be repeated.
   */
  proof?: 'alone' | 'together' | 'neither'
}

/** An explanation with all changed facts. */
export interface Explained extends Explanation {
  changed: ChangedFact[]
}

const MAX_SHOWN = 8

export function isExplained(why: Reason): boolean {
  return why === 'dependency' || why === 'block' || why === 'rule'
}

/** The parts in which two results differ, and the difference in words. `differs` is empty if they agree. */
export function partsOf(predicted: Result, mined: Result): { differs: Part[]; effect?: string } {
  const difference = differenceOf(predicted.effects, mined.effects)
  const differs: Part[] = []
  if (predicted.succeeded !== mined.succeeded) differs.push('status')
  if (predicted.gasUsed !== mined.gasUsed) differs.push('gas')
  if (difference !== undefined && predicted.succeeded === mined.succeeded) differs.push('transfers')
  return { differs, ...(difference && { effect: difference.effect }) }
}

/** @param atPlace the transaction run again at the place where it was mined @param mined the outcome on chain */
export function explanationOf(predicted: Run, atPlace: Run, mined: Result): Explained {
  if (partsOf(atPlace, mined).differs.length > 0) return { why: 'ours', because: [], changed: [] }
  const changed: { was: FoundFact; is: FoundFact }[] = []
  for (const [place, was] of predicted.facts) {
    const is = atPlace.facts.get(place)
    if (is !== undefined && (is.value !== was.value || is.price !== was.price)) changed.push({ was, is })
  }
  const named = changed.filter(({ was, is }) => was.isNamed && was.value !== is.value)
  const ofState = named.filter(({ was }) => was.fact.address !== undefined)
  const priced = changed.filter(({ was, is }) => was.price !== is.price && !ofState.some((one) => one.was === was))
  const why =
    ofState.length > 0 ? 'dependency' : priced.length > 0 ? 'rule' : named.length > 0 ? 'block' : ('unnamed' as const)
  const shown = why === 'block' ? named : [...ofState, ...priced]
  return { why, because: shown.slice(0, MAX_SHOWN).map(shownChange), changed: changed.map(shownChange) }
}

function shownChange({ was, is }: { was: FoundFact; is: FoundFact }): ChangedFact {
  const { fact, value } = was
  return {
    fact,
    predicted: toQuantity(value),
    found: toQuantity(is.value),
    by: fact.address === undefined ? 'the block' : is.isOfBlock ? 'a transaction before' : 'a block between',
  }
}

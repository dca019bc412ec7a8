import { type Hex, toQuantity } from '@upfront/protocol'
import { differenceOf, type ShownFact } from '@upfront/simulation'
import type { FoundFact, Result, Run } from './run.js'

/** Where a prediction was wrong. */
export type Part = 'status' | 'gas' | 'transfers'

/**
 * Why a prediction was wrong. `dependency`: a fact that `depends` names was another one. `block`: so was one of the block's own alone, as another
 * block came between. `rule`: what it wrote was there, or was not, and so cost other gas. `ours`: at its own place our engine comes to something
 * else than the chain. `unnamed`: it does not, and nothing that was named is another one. `unknown`: it could not be run there.
 */
export type Reason = 'dependency' | 'block' | 'rule' | 'ours' | 'unnamed' | 'unknown'

export interface ChangedFact {
  fact: ShownFact
  predicted: Hex
  found: Hex
  /** Whose it is, or what changed it: a transaction before it in its block, or a block before that. */
  by: 'the block' | 'a transaction before' | 'a block between'
}

export interface Explanation {
  why: Reason
  /** The facts that were other ones, the first of them. */
  because: ChangedFact[]
  /**
   * What the prediction comes to, run again with what was found: to what happened with one of these facts `alone`, with all that changed `together`,
   * or with `neither`. Absent where it could not be run.
   */
  proof?: 'alone' | 'together' | 'neither'
}

/** An explanation, with all that was another one. */
export interface Explained extends Explanation {
  changed: ChangedFact[]
}

const MOST_SHOWN = 8

export function isExplained(why: Reason): boolean {
  return why === 'dependency' || why === 'block' || why === 'rule'
}

/** In what two results differ, and how in words. Nothing: they are the same. */
export function partsOf(predicted: Result, mined: Result): { differs: Part[]; effect?: string } {
  const difference = differenceOf(predicted.effects, mined.effects)
  const differs: Part[] = []
  if (predicted.succeeded !== mined.succeeded) differs.push('status')
  if (predicted.gasUsed !== mined.gasUsed) differs.push('gas')
  if (difference !== undefined && predicted.succeeded === mined.succeeded) differs.push('transfers')
  return { differs, ...(difference && { effect: difference.effect }) }
}

/** @param atPlace the transaction run again where it was mined @param mined as the chain has it */
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
  return { why, because: shown.slice(0, MOST_SHOWN).map(shownChange), changed: changed.map(shownChange) }
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

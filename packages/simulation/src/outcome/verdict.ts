import type { Address } from '@upfront/protocol'
import { type CallRecord, type DecidingFact, REACHED } from '../engine/call-record.js'
import { type Circumstances, isDeciding } from './circumstances.js'
import type { Difference } from './effects.js'
import { factOf, type Reached, type ShownFact } from './shown-dependencies.js'

/** Whether a call would have the same outcome under other circumstances. */
export interface Outcome {
  /** `watched`: the outcome depends on something that only a simulation has. */
  verdict: 'holds' | 'changes' | 'watched'
  because: Because[]
  /** Descriptions of circumstances that were too costly to try. */
  leftOut?: string[]
}

export interface Because {
  /** Absent if the engine's limits were reached. */
  fact?: ShownFact
  /** The circumstances that were tried. */
  under: string
  /** The different outcome; if there is none, what the fact decides. */
  effect: string
}

/** A difference found under tried circumstances. */
export interface Tried {
  condition: Circumstances
  difference: Difference
}

/** Facts whose value in a future block can't be known. A call that depends on one is `watched`. */
const UNKNOWABLE = new Set(['prevRandao', 'blockHash', 'coinbase', 'gasLimit', 'blobBaseFee'])
/** What a zero ORIGIN must not reach, because code could tell by it that nobody signed: all but a recipient, an amount or a slot. */
const REVEALS_ZERO_ORIGIN = ~(REACHED.recipient | REACHED.amount | REACHED.slot)

/** @param tried circumstances with a different outcome, each tried separately, or jointly if none makes the difference alone */
export function verdictOf({ dependencies }: CallRecord, tried: readonly Tried[]): Outcome {
  const { facts = [], isPartial = false } = dependencies ?? {}
  const watched: Because[] = facts.filter(isWatchedAlone).map((fact) => because(fact, tried))
  const changes: Because[] = []
  for (const { condition, difference } of tried) {
    const concerned = facts.filter((fact) => isDeciding(fact) && condition.changesFact(fact))
    const isWatched = recognizesSimulation(condition, difference, concerned)
    for (const fact of concerned) {
      const shown = { fact: factOf(fact), under: condition.under, effect: difference.effect }
      if (!isWatchedAlone(fact)) (isWatched ? watched : changes).push(shown)
    }
  }
  if (isPartial)
    watched.push({ under: 'what can be followed of a call', effect: 'decided by more than can be followed' })
  const verdict = watched.length > 0 ? 'watched' : changes.length > 0 ? 'changes' : 'holds'
  return { verdict, because: [...watched, ...changes] }
}

/** The history contracts for block hashes (EIP-2935) and beacon roots (EIP-4788). */
const HISTORIES = new Set<string>([
  '0x0000f90827f1c53a10cb7a02335b175320002935',
  '0x000f3df6d732807ef1319fb7b8bb8522d0beac02',
])

export function isHistoryContract(address: Address | undefined): boolean {
  return address !== undefined && HISTORIES.has(address)
}

/** Whether the fact alone makes a call `watched`. A history contract's slot does only if it is zero. */
function isWatchedAlone(fact: DecidingFact): boolean {
  if (fact.kind === 'slot') return fact.value === 0n && isHistoryContract(fact.address)
  if (fact.kind === 'origin') return fact.value === 0n && (fact.reached & REVEALS_ZERO_ORIGIN) !== 0
  return UNKNOWABLE.has(fact.kind) && isDeciding(fact)
}

/** Whether the call recognizes a simulation. A changed amount alone does not show that: refunds follow gas and its price. */
function recognizesSimulation(
  { category }: Circumstances,
  difference: Difference,
  facts: readonly DecidingFact[],
): boolean {
  if (category === 'course') return false
  if (facts.every(({ reached }) => (reached & ~REACHED.amount & ~REACHED.recipient) === 0)) return false
  if (difference.isStructural) return category === 'surroundings' || difference.effect !== 'fails'
  return facts.some(({ reached }) => (reached & REACHED.selection) !== 0)
}

function because(fact: DecidingFact, tried: readonly Tried[]): Because {
  const found = tried.find(({ condition }) => condition.changesFact(fact))
  const shown = { fact: factOf(fact) }
  if (found !== undefined) return { ...shown, under: found.condition.under, effect: found.difference.effect }
  const places = (Object.keys(REACHED) as Reached[]).filter((place) => (fact.reached & REACHED[place]) !== 0)
  return { ...shown, under: 'a block', effect: `decides a ${places.join(', ')}` }
}

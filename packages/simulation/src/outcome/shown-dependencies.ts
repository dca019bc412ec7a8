import { type Address, type Hash, type Hex, toQuantity } from '@upfront/protocol'
import { type CallRecord, type DecidingFact, type Dependencies, type FactKind, REACHED } from '../engine/call-record.js'
import type { StateLayer } from '../engine/state.js'

/** A fact by its place: of the state, of the block or of the transaction. */
export interface ShownFact {
  kind: FactKind
  /** Of a slot, a balance or a code. */
  address?: Address
  slot?: Hash
  /** Of the block whose hash it is. */
  number?: Hex
}

export type Reached = keyof typeof REACHED

/** What decided a call's outcome. */
export interface ShownDependencies {
  facts: ShownDependency[]
  /** There was more to follow than is followed: others may have decided too. */
  isPartial: boolean
}

export interface ShownDependency {
  fact: ShownFact
  /** As the call found it first: of a code its size, its hash, or whom it delegates to. */
  value: Hex
  /** Where it went. */
  reached: Reached[]
  /** How many of the last blocks that were carried here, a hundred at most, changed it; absent where none is held, and where the answer is sold. */
  changed?: { times: number; blocks: number }
  /** The block under construction has changed it. */
  isPending?: true
  /** How many waiting transactions, of those that were tried before the calls, change it. */
  waiting?: number
}

/**
 * @param layers of the block under construction; without them nothing is said of what is not of one block
 * @param waiting transactions that were tried before the calls
 */
export function shownDependencies(
  { facts, isPartial }: Dependencies,
  layers?: readonly StateLayer[],
  waiting: readonly { changesOf(fact: DecidingFact): number }[] = [],
): ShownDependencies {
  const shown = facts.map((fact): ShownDependency => {
    const { value, reached, changed: times, blocks } = fact
    const isWaiting = waiting.reduce((sum, { changesOf }) => sum + changesOf(fact), 0)
    return {
      fact: factOf(fact),
      value: toQuantity(value),
      reached: (Object.keys(REACHED) as Reached[]).filter((place) => (reached & REACHED[place]) !== 0),
      ...(layers && blocks > 0 && fact.address !== undefined && { changed: { times, blocks } }),
      ...(layers?.some((layer) => changes(layer, fact)) && { isPending: true as const }),
      ...(isWaiting > 0 && { waiting: isWaiting }),
    }
  })
  return { facts: shown, isPartial }
}

/** The place of a fact alone. */
export function factOf({ kind, address, slot, number }: DecidingFact): ShownFact {
  return {
    kind,
    ...(address !== undefined && { address }),
    ...(slot !== undefined && { slot }),
    ...(number !== undefined && { number: toQuantity(number) }),
  }
}

/** Tells facts of the state apart. */
export function stateKey({ kind, address, slot }: Pick<ShownFact, 'kind' | 'address' | 'slot'>): string {
  return `${kind} ${address} ${slot}`
}

/** What of the state a recorded call changes. */
export function changedFacts({ accounts }: Pick<CallRecord, 'accounts'>): ShownFact[] {
  return accounts.flatMap(({ address, before, after, slots }): ShownFact[] => [
    ...(before.balance === after.balance ? [] : [{ kind: 'balance' as const, address }]),
    ...(before.codeHash === after.codeHash ? [] : [{ kind: 'code' as const, address }]),
    ...slots.flatMap(({ slot, before, after }) => (before === after ? [] : [{ kind: 'slot' as const, address, slot }])),
  ])
}

/** Whether a layer changes the fact's value. */
export function changes({ accounts }: StateLayer, { kind, address, slot }: DecidingFact): boolean {
  const change = address && accounts.get(address)
  if (!change) return false
  switch (kind) {
    case 'slot':
      return change.storageCleared || (slot !== undefined && change.storage.has(slot))
    case 'balance':
      return change.balance !== undefined
    case 'code':
      return change.code !== undefined
    default:
      return false
  }
}

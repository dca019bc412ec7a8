import { type Address, type Hash, type Hex, toQuantity } from '@upfront/protocol'
import { type CallRecord, type DecidingFact, type Dependencies, type FactKind, REACHED } from '../engine/call-record.js'
import type { StateLayer } from '../engine/state.js'

/** Identifies a fact of the state, block or transaction. */
export interface ShownFact {
  kind: FactKind
  /** Set for a slot, a balance or a code. */
  address?: Address
  slot?: Hash
  /** Set for a block hash: the block's number. */
  number?: Hex
}

export type Reached = keyof typeof REACHED

/** The facts that decided a call's outcome. */
export interface ShownDependencies {
  facts: ShownDependency[]
  /** The engine's limits were reached: other facts may have decided too. */
  isPartial: boolean
}

export interface ShownDependency {
  fact: ShownFact
  /** The value when first found; for code its size, its hash or the account it delegates to. */
  value: Hex
  /** What the value reached. */
  reached: Reached[]
  /** How many of the last carried blocks (`blocks`, at most 100) changed it. Absent if there are none, and for sold answers. */
  changed?: { times: number; blocks: number }
  /** The block under construction changed it. */
  isPending?: true
  /** How many of the tried waiting transactions change it. */
  waiting?: number
}

/**
 * @param layers of the block under construction; without them `changed` and `isPending` are left out
 * @param waiting outcomes after waiting transactions
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
      ...(layers?.some((layer) => layerChanges(layer, fact)) && { isPending: true as const }),
      ...(isWaiting > 0 && { waiting: isWaiting }),
    }
  })
  return { facts: shown, isPartial }
}

/** The fact without its value. */
export function factOf({ kind, address, slot, number }: DecidingFact): ShownFact {
  return {
    kind,
    ...(address !== undefined && { address }),
    ...(slot !== undefined && { slot }),
    ...(number !== undefined && { number: toQuantity(number) }),
  }
}

/** Key of a fact of the state. */
export function stateKey({ kind, address, slot }: Pick<ShownFact, 'kind' | 'address' | 'slot'>): string {
  return `${kind} ${address} ${slot}`
}

/** The state facts that a recorded call changes. */
export function changedFacts({ accounts }: Pick<CallRecord, 'accounts'>): ShownFact[] {
  return accounts.flatMap(({ address, before, after, slots }): ShownFact[] => [
    ...(before.balance === after.balance ? [] : [{ kind: 'balance' as const, address }]),
    ...(before.codeHash === after.codeHash ? [] : [{ kind: 'code' as const, address }]),
    ...slots.flatMap(({ slot, before, after }) => (before === after ? [] : [{ kind: 'slot' as const, address, slot }])),
  ])
}

/** Whether a layer changes the fact's value. */
export function layerChanges({ accounts }: StateLayer, { kind, address, slot }: DecidingFact): boolean {
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

import type { Address, Hash, SimulatedBlock, SimulatedCall } from '@upfront/protocol'
import {
  type CallRecord,
  changedFacts,
  type DecidingFact,
  type Effects,
  effectsOf,
  factOf,
  type ShownFact,
  type Simulation,
  type SimulationAnswer,
  shownDependencies,
} from '@upfront/simulation'

/** The outcome of a transaction, in our run or on chain. */
export interface Result {
  succeeded: boolean
  gasUsed: bigint
  effects: Effects
}

/** Our run of a transaction. */
export interface Run extends Result {
  /** Number of the block that it was run in. */
  block: bigint
  /** Hash of the block whose state it ran on; undefined if there were layers on top. */
  on: Hash | undefined
  /** Facts that decided the run, and state that it wrote, by place. */
  facts: Map<string, FoundFact>
}

/** A run with the state that it changes. */
export interface ChangingRun extends Run {
  changes: ShownFact[]
}

/** A value that a run found. */
export interface FoundFact {
  fact: ShownFact
  value: bigint
  /** Whether `depends` names it; otherwise only the gas of writing it depends on it. */
  isNamed: boolean
  /** What the gas of writing it depends on: a slot's value before and after, zero or not (EIP-2200); whether an account existed. */
  price: string | undefined
  /** Changed by earlier transactions of the same block. */
  isOfBlock: boolean
}

/** Further facts of a run are dropped. */
const MAX_FACTS = 256
/** Left out: they follow from other facts, or belong to the transaction itself. */
const FOLLOWING = new Set<DecidingFact['kind']>(['gasLeft', 'gasPrice', 'origin'])

/** @param answer with one call, and its dependencies and state recorded */
export function runOf({ json, records }: SimulationAnswer, { base, state }: Simulation): ChangingRun {
  const [block] = JSON.parse(json.toString()) as SimulatedBlock[]
  const [call] = block!.calls
  const [record] = records
  return {
    ...resultOf(call!),
    block: base.number + 1n,
    on: state.layers.length === 0 ? base.hash : undefined,
    facts: record === undefined ? new Map() : factsOf(record, state.layers),
    changes: record === undefined ? [] : changedFacts(record),
  }
}

/** The result in a receipt or a simulated call. */
export function resultOf({ status, gasUsed, logs }: Pick<SimulatedCall, 'status' | 'gasUsed' | 'logs'>): Result {
  return {
    succeeded: status !== '0x0',
    gasUsed: BigInt(gasUsed),
    effects: effectsOf({ status, logs }, undefined),
  }
}

function factsOf(
  { dependencies = { facts: [], isPartial: false, isSameLater: false }, accounts }: CallRecord,
  layers: Simulation['state']['layers'],
): Run['facts'] {
  const found: Run['facts'] = new Map()
  const add = (fact: FoundFact) => {
    const place = placeOf(fact.fact)
    const known = found.get(place)
    if (known !== undefined) known.price ??= fact.price
    else if (found.size < MAX_FACTS) found.set(place, fact)
  }
  const shown = shownDependencies(dependencies, layers).facts
  for (const [at, { kind, value, ...rest }] of dependencies.facts.entries()) {
    if (FOLLOWING.has(kind)) continue
    add({
      fact: factOf({ kind, value, ...rest }),
      value,
      isNamed: true,
      price: undefined,
      isOfBlock: shown[at]!.isPending === true,
    })
  }
  const isOfBlock = (address: Address, slot: Hash) =>
    layers.some(({ accounts }) => accounts.get(address)?.storage.has(slot) === true)
  for (const { address, before, after, slots } of accounts) {
    if (before.exists !== after.exists) {
      const price = before.exists ? 'there' : 'not there'
      const value = before.exists ? 1n : 0n
      add({ fact: { kind: 'code', address }, value, isNamed: false, price, isOfBlock: false })
    }
    for (const { slot, before, after } of slots) {
      const [was, is] = [BigInt(before), BigInt(after)]
      const price = was === is ? 'left' : `${was === 0n ? 'zero' : 'some'} to ${is === 0n ? 'zero' : 'some'}`
      const fact: ShownFact = { kind: 'slot', address, slot }
      add({ fact, value: was, isNamed: false, price, isOfBlock: isOfBlock(address, slot) })
    }
  }
  return found
}

function placeOf({ kind, address = '0x', slot = '0x', number = '0x' }: ShownFact): string {
  return `${kind} ${address} ${slot} ${number}`
}

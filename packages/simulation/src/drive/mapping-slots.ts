import type { Address, Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { keccak256 } from 'viem'
import type { StateRead } from '../engine/state.js'
import type { PlannedCall, SimulationPlan } from '../plan/simulation-plan.js'

/** A `mapping(address => …)` that a contract keeps at storage position `position`. */
interface Mapping {
  contract: Address
  position: number
}

/** Of one called contract. */
interface Known {
  /** What calls to it read at their sender. */
  mappings: Mapping[]
  /** Slots that were no such mapping's: where there are many, looking on is a waste. */
  misses: number
}

/** Where contracts keep their mappings: the first storage positions. */
const POSITIONS = 12
const MOST_MAPPINGS = 8
const MOST_MISSES = 100
const MOST_CALLS = 16

/**
 * Balances and the like are kept by account: which slots a call reads depends on who calls. What senders before read in a
 * contract's mappings tells what the next one will, so that it is read together with the sender's account instead of after it.
 * https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html#mappings-and-dynamic-arrays
 */
export class MappingSlots {
  readonly #known = new LRUCache<Address, Known>({ max: 2_000 })

  /** Takes in which slots the plan's calls had to read beyond those that were certain or predicted. */
  learn(plan: SimulationPlan, reads: readonly StateRead[]): void {
    const slots = reads.filter((read) => read.kind === 'storage')
    if (slots.length === 0) return
    for (const { from, to } of firstCalls(plan)) {
      if (to === null) continue
      const known = this.#known.get(to) ?? { mappings: [], misses: 0 }
      this.#known.set(to, known)
      for (const { address, slot } of slots) {
        if (known.mappings.length === MOST_MAPPINGS || known.misses >= MOST_MISSES) break
        const position = positionOf(from, slot)
        if (position === undefined) known.misses += 1
        else if (!known.mappings.some((mapping) => mapping.contract === address && mapping.position === position))
          known.mappings.push({ contract: address, position })
      }
    }
  }

  /** What the plan's calls will likely read at senders that are new. */
  predict(plan: SimulationPlan, isNew: (sender: Address) => boolean): StateRead[] {
    const reads: StateRead[] = []
    for (const { from, to } of firstCalls(plan)) {
      const mappings = to === null ? undefined : this.#known.get(to)?.mappings
      if (mappings === undefined || mappings.length === 0 || !isNew(from)) continue
      for (const { contract, position } of mappings)
        reads.push({ kind: 'storage', address: contract, slot: mappingSlot(from, position) })
    }
    return reads
  }
}

function firstCalls({ blocks: [first] }: SimulationPlan): readonly PlannedCall[] {
  return first === undefined ? [] : first.calls.length > MOST_CALLS ? first.calls.slice(0, MOST_CALLS) : first.calls
}

function positionOf(key: Address, slot: Hash): number | undefined {
  for (let position = 0; position < POSITIONS; position++) if (mappingSlot(key, position) === slot) return position
  return undefined
}

function mappingSlot(key: Address, position: number): Hash {
  return keccak256(`0x${key.slice(2).padStart(64, '0')}${position.toString(16).padStart(64, '0')}`)
}

import type { UpstreamObserver } from '@upfront/node'
import type { Address } from '@upfront/protocol'
import type { Engine } from '../engine/engine.js'
import { layerValue } from '../engine/layer-value.js'
import { readKey, type StateRead } from '../engine/state.js'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { expectedReads } from './expected-reads.js'
import type { Hints } from './hints.js'
import type { MappingSlots } from './mapping-slots.js'
import type { PinnedState } from './pinned-state.js'
import type { StateReads } from './state-reads.js'

const MOST_EXPECTED = 3_000
/** A contract that was called on this block before leaves little to read: asking the node what a call touches would cost more. */
const ROUNDS_WITHOUT_HINTS = 2

/** What all plans are read ahead with. */
export interface ReadingAhead {
  engine: Pick<Engine, 'missing'>
  reads: StateReads
  hints: Hints
  mappings: MappingSlots
  observer: UpstreamObserver
}

/** What one plan will certainly or likely read beside what it lacks just now. */
export class PlanReads {
  readonly #plan: SimulationPlan
  readonly #at: PinnedState
  readonly #shared: ReadingAhead
  #hintsInRound = 1

  constructor(plan: SimulationPlan, at: PinnedState, shared: ReadingAhead) {
    this.#plan = plan
    this.#at = at
    this.#shared = shared
  }

  /**
   * What to read together with what the plan lacks; what the node names when it is asked is read as its answer comes.
   * @param round how many times the plan lacked something, this one included
   */
  ahead(lacking: readonly StateRead[], round: number): StateRead[] {
    const { mappings } = this.#shared
    if (round > 1) mappings.learn(this.#plan, lacking)
    const reads = round === 1 ? this.#expected(lacking) : []
    if (round === this.#hintsInRound) this.#askForHints()
    return reads
  }

  #expected(lacking: readonly StateRead[]): StateRead[] {
    const plan = this.#plan
    let reads = this.#missing(expectedReads(plan, MOST_EXPECTED, false))
    const isMissing = new Set(reads.map(readKey))
    const likely = this.#shared.mappings.predict(plan, (address) => isMissing.has(readKey({ kind: 'nonce', address })))
    if (knowsCallees(plan, (address) => isMissing.has(readKey({ kind: 'code', address }))))
      this.#hintsInRound = ROUNDS_WITHOUT_HINTS + 1
    else reads = this.#missing(expectedReads(plan, MOST_EXPECTED, true))
    const asked = new Set(lacking.map(readKey))
    return [...reads, ...likely].filter((read) => !asked.has(readKey(read)))
  }

  /** Those that neither a layer decides nor the engine holds. */
  #missing(reads: StateRead[]): StateRead[] {
    const { key, layers } = this.#at
    const below = layers.length === 0 ? reads : reads.filter((read) => layerValue(layers, read) === undefined)
    const missing = this.#shared.engine.missing(key, below)
    this.#shared.observer.onReads?.({ hits: below.length - missing.length, misses: 0 })
    return missing
  }

  #askForHints(): void {
    const { block } = this.#at
    const { hints, reads } = this.#shared
    hints.ask(block, this.#plan, (named) => {
      const missing = this.#missing(named)
      if (missing.length === 0) return
      const asked = reads.askAhead(block, missing)
      asked.values.catch(() => 'then it is read when it is needed').finally(() => asked.leave())
    })
  }
}

/** Whether the code of all contracts that are called first is known. */
function knowsCallees({ blocks }: SimulationPlan, isMissing: (address: Address) => boolean): boolean {
  for (const { calls } of blocks) for (const { to } of calls) if (to !== null && isMissing(to)) return false
  return true
}

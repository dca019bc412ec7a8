import type { PinnedBlock } from '@upfront/head'
import type { CallQueue, UpstreamFault } from '@upfront/node'
import { isMethodMissing } from '@upfront/node'
import type { StateRead } from '../engine/state.js'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { Overridden } from './overridden.js'
import type { StateReads } from './state-reads.js'
import { accessListHint, type HintedCall, hintedCalls, prestateHint, type Touched } from './touch-hints.js'

const MOST_TOUCHED = 3_000
const MOST_HINTED_CALLS = 16
const LACKING_LASTS_MS = 600_000
/** Hints share an HTTP request with reads: where they hold those up, they are left out for a while. */
const SLOW_HINT_MS = 1_500
const SLOW_LASTS_MS = 60_000

type Feature = 'debug_traceCall' | 'eth_createAccessList' | 'eth_createAccessList with overrides'

/** Asks the node what a plan's calls touch. Only names are taken from its answers; whatever fails here is read when it is needed. */
export class Hints {
  readonly #queue: CallQueue
  readonly #reads: StateReads
  readonly #onWorkaround: (lacks: string) => void
  readonly #lackingUntil = new Map<Feature, number>()
  /** Hints asked for and not yet given: who asked first reads what they name, for all. */
  readonly #underWay = new Set<string>()
  #pausedUntil = 0
  /** Until it is known which hints work, all are asked for, so that the first request does not pay for finding out. */
  #preferred: Feature | undefined

  constructor(queue: CallQueue, reads: StateReads, onWorkaround: (lacks: string) => void) {
    this.#queue = queue
    this.#reads = reads
    this.#onWorkaround = onWorkaround
  }

  /**
   * Asks what the plan's calls touch, and has `read` told of what is named and not overridden.
   * @param read reads ahead
   */
  ask(block: PinnedBlock, plan: SimulationPlan, read: (reads: StateRead[]) => void): void {
    if (this.#pausedUntil > performance.now()) return
    const overridden = new Overridden()
    for (const { stateOverrides } of plan.blocks) overridden.add(stateOverrides)
    let budget = MOST_TOUCHED
    for (const call of hintedCalls(plan, MOST_HINTED_CALLS))
      for (const hint of this.#hints(block, call))
        hint.then(
          (touched) => {
            const named = touched.filter((read) => !overridden.has(read)).slice(0, budget)
            budget -= named.length
            if (named.length > 0) read(named)
          },
          () => undefined,
        )
  }

  #hints(block: PinnedBlock, call: HintedCall): Promise<Touched>[] {
    const at = this.#reads.reference(block)
    const hints: Promise<Touched>[] = []
    if (this.#wants('debug_traceCall')) {
      const hint = prestateHint(call, at)
      if (hint !== undefined) hints.push(this.#ask('debug_traceCall', hint))
    }
    if (this.#wants('eth_createAccessList')) {
      const withOverrides = call.overrides.length > 0 && !this.#lacks('eth_createAccessList with overrides')
      const hint = accessListHint(call, at, withOverrides)
      const feature = withOverrides ? 'eth_createAccessList with overrides' : 'eth_createAccessList'
      if (hint !== undefined) hints.push(this.#ask(feature, hint))
    }
    return hints
  }

  async #ask(feature: Feature, hint: Parameters<CallQueue['send']>[0]): Promise<Touched> {
    const question = `${hint.method} ${JSON.stringify(hint.params)}`
    if (this.#underWay.has(question)) return []
    this.#underWay.add(question)
    const started = performance.now()
    const outcome = await this.#queue.send(hint).finally(() => this.#underWay.delete(question))
    const ended = performance.now()
    if (ended - started > SLOW_HINT_MS) this.#pausedUntil = ended + SLOW_LASTS_MS
    if ('value' in outcome) {
      if (this.#preferred !== 'debug_traceCall' && feature !== 'eth_createAccessList with overrides')
        this.#preferred = feature
      return outcome.value as Touched
    }
    if (isUnavailable(feature, outcome.error.fault)) this.#noteLacking(feature)
    return []
  }

  #wants(feature: 'debug_traceCall' | 'eth_createAccessList'): boolean {
    if (this.#lacks(feature)) return false
    return this.#preferred === undefined || this.#preferred === feature || this.#lacks(this.#preferred)
  }

  #lacks(feature: Feature): boolean {
    return (this.#lackingUntil.get(feature) ?? 0) > performance.now()
  }

  #noteLacking(feature: Feature): void {
    if (!this.#lacks(feature)) this.#onWorkaround(feature)
    this.#lackingUntil.set(feature, performance.now() + LACKING_LASTS_MS)
  }
}

/** A hint that took too long, or that the node won't give: do without it from now on. */
function isUnavailable(feature: Feature, fault: UpstreamFault): boolean {
  if (fault.kind !== 'rpc-error') return false
  const { code, message = '' } = fault.detail.rpc ?? {}
  return (
    isMethodMissing(fault) ||
    (feature === 'eth_createAccessList with overrides' && code === -32602) ||
    /not (available|supported|allowed|enabled|whitelisted|exist)|unsupported|disabled|forbidden/i.test(message)
  )
}

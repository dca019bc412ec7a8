import type { PinnedBlock } from '@upfront/head'
import type { CallQueue, UpstreamFault } from '@upfront/node'
import { isMethodMissing } from '@upfront/node'
import type { Address } from '@upfront/protocol'
import type { SimulationPlan, StateRead } from '@upfront/simulation'
import type { BlockCache, StateCache } from '../state/state-cache.js'
import type { StateReads } from '../state/state-reads.js'
import { expectedReads } from './expected-reads.js'
import { MappingSlots } from './mapping-slots.js'
import { Overridden } from './overridden.js'
import { accessListHint, type HintedCall, hintedCalls, prestateHint, type Touched } from './touch-hints.js'

const MOST_EXPECTED = 3_000
const MOST_TOUCHED = 3_000
const MOST_HINTED_CALLS = 16
const LACKING_LASTS_MS = 600_000
/** Hints share an HTTP request with reads: where they hold those up, they are left out for a while. */
const SLOW_HINT_MS = 1_500
const SLOW_LASTS_MS = 60_000

const ROUNDS_WITHOUT_HINTS = 2

type Feature = 'debug_traceCall' | 'eth_createAccessList' | 'eth_createAccessList with overrides'

/**
 * Reads ahead what a plan will touch: at once what the plan itself tells, together with a question to the node what its
 * calls touch; then what the node named. Whatever fails here is read when it is needed.
 */
export class Prefetch {
  readonly #queue: CallQueue
  readonly #reads: StateReads
  readonly #onWorkaround: (lacks: string) => void
  readonly #lackingUntil = new Map<Feature, number>()
  readonly #mappings = new MappingSlots()
  /** Hints asked for and not yet given: who asked first reads what they name, for all. */
  readonly #underWay = new Set<string>()
  #pausedUntil = 0
  /** Which hints work is not known yet: all are asked for at once, so that the first request does not pay for finding out. */
  #preferred: Feature | undefined

  constructor(queue: CallQueue, reads: StateReads, onWorkaround: (lacks: string) => void) {
    this.#queue = queue
    this.#reads = reads
    this.#onWorkaround = onWorkaround
  }

  /** Tells the plan which slots of senders that the cache does not know its calls will likely read. */
  predict(caches: StateCache, block: PinnedBlock, plan: SimulationPlan): void {
    const isNew = (address: Address) => caches.at(block.key).get({ kind: 'nonce', address }) === undefined
    const reads = this.#mappings.predict(plan, isNew)
    if (reads.length > 0) plan.likelyReads = reads
  }

  /** `round`: how many times the request has missed something, this one included. */
  onMisses(block: PinnedBlock, cache: BlockCache, plan: SimulationPlan, missed: StateRead[], round: number): void {
    if (round > 1) this.#mappings.learn(plan, missed)
    if (round === (knowsCallees(cache, plan) ? ROUNDS_WITHOUT_HINTS + 1 : 1)) this.#start(block, cache, plan)
  }

  #start(block: PinnedBlock, cache: BlockCache, plan: SimulationPlan): void {
    for (const read of expectedReads(plan, MOST_EXPECTED)) this.#ahead(block, cache, read)
    const overridden = new Overridden()
    for (const { stateOverrides } of plan.blocks) overridden.add(stateOverrides)
    let budget = MOST_TOUCHED
    if (this.#pausedUntil > performance.now()) return
    for (const call of hintedCalls(plan, MOST_HINTED_CALLS))
      for (const hint of this.#hints(block, call))
        hint.then(
          (touched) => {
            for (const read of touched) {
              if (budget === 0) return
              if (!overridden.has(read) && this.#ahead(block, cache, read)) budget -= 1
            }
          },
          () => undefined,
        )
  }

  #ahead(block: PinnedBlock, cache: BlockCache, read: StateRead): boolean {
    if (cache.get(read) !== undefined) return false
    this.#reads.ask(block, cache, [read]).values.catch(() => 'then it is read when it is needed')
    return true
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

/** A contract that was called on this block before left little to read: asking what a call touches would cost more. */
function knowsCallees(cache: BlockCache, { blocks }: SimulationPlan): boolean {
  let left = MOST_HINTED_CALLS
  for (const { calls } of blocks) {
    for (const { to } of calls) {
      if (to === null) continue
      if (cache.get({ kind: 'code', address: to }) === undefined) return false
      left -= 1
      if (left === 0) return true
    }
  }
  return true
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

import { setTimeout as sleep } from 'node:timers/promises'
import type { CallQueue, UpstreamCall, UpstreamFault } from '@upfront/node'
import type { Address, StateOverride } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { layerValue } from '../engine/layer-value.js'
import type { StateRead } from '../engine/state.js'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { namedAccounts } from './named-accounts.js'
import type { PinnedState } from './pinned-state.js'
import type { StateReads } from './state-reads.js'
import { accessListHint, accountReads, type HintedCall, hintedCall, type OnLack, prestateHint } from './touch-hints.js'
import { isUnserved, Unserved } from './unserved.js'

const MAX_TOUCHED = 3_000
const MAX_SEEN = 20_000
/** Calls per block checked for a function not called before. */
const MAX_FUNCTIONS = 16
const SELECTOR_DIGITS = '0x'.length + 8
/** Limit of overridden accounts and slots. */
const MAX_OVERRIDES = 1_024
/** Hints share HTTP requests with reads. After a slow one, they are paused for a while. */
const SLOW_HINT_MS = 1_500
const SLOW_LASTS_MS = 60_000

type Feature = 'debug_traceCall' | 'eth_createAccessList' | 'eth_createAccessList with overrides'

/**
 * Reads ahead for calls to contracts that no plan has called before, whose code, and thus whose reads, are unknown. Reads the accounts that
 * the calldata names, and asks the node once per plan what the call touches. Only addresses and slots are taken from the answer;
 * correctness never depends on it.
 */
export class Hints {
  readonly #queue: CallQueue
  readonly #reads: StateReads
  readonly #unserved: Unserved<Feature>
  readonly #asksNode: boolean
  readonly #seen = new LRUCache<string, true>({ max: MAX_SEEN })
  #pausedUntil = 0

  constructor(queue: CallQueue, reads: StateReads, onWorkaround: (lacks: string) => void, asksNode: boolean) {
    this.#queue = queue
    this.#reads = reads
    this.#unserved = new Unserved(onWorkaround)
    this.#asksNode = asksNode
  }

  /**
   * Reads ahead what the calldata and the node name; does nothing for a plan with so many overrides that checking them would block the
   * event loop. If the node does not serve one kind of question, the next kind is sent along with the next reads. The plan then waits for
   * the reads named so far, as it would otherwise read what it guesses.
   */
  onLack(plan: SimulationPlan, at: PinnedState): OnLack {
    let call: HintedCall | undefined
    let reading: Promise<unknown> | undefined
    return (lacking, round) => {
      if (round === 1) call = this.#begin(plan, at, lacking)
      if (call !== undefined && this.#pausedUntil <= performance.now()) {
        const asked = call
        call = undefined
        this.#touched(asked, at).then(
          (touched) => {
            if (touched === undefined) call = asked
            else reading = this.#read(touched, plan, at)
          },
          () => undefined,
        )
      }
      return () => reading && Promise.race([reading, sleep(SLOW_HINT_MS, undefined, { ref: false })])
    }
  }

  /** Reads ahead what calldata names. Returns the call to ask the node about, if any. */
  #begin(plan: SimulationPlan, at: PinnedState, lacking: readonly StateRead[]): HintedCall | undefined {
    const unseen = this.#findUnseen(plan, lacking)
    if (unseen.size === 0 || hasManyOverrides(plan)) return undefined
    this.#read(namedAccounts(plan, unseen).flatMap(accountReads), plan, at)
    return this.#asksNode ? hintedCall(plan, unseen) : undefined
  }

  /**
   * Accounts, except senders, whose code is missing for the first time, and, if storage is missing, callees of a function that no plan has
   * called before.
   */
  #findUnseen({ blocks }: SimulationPlan, lacking: readonly StateRead[]): Set<Address> {
    const senders = new Set(blocks.flatMap(({ calls }) => calls.map(({ from }) => from)))
    const unseen = new Set<Address>()
    const isNew = (key: string) => {
      const isKnown = this.#seen.has(key)
      this.#seen.set(key, true)
      return !isKnown
    }
    for (const read of lacking)
      if (read.kind === 'code' && !senders.has(read.address) && isNew(read.address)) unseen.add(read.address)
    if (!lacking.some(({ kind }) => kind === 'storage')) return unseen
    for (const { calls } of blocks)
      for (const { to, input } of calls.slice(0, MAX_FUNCTIONS))
        if (to !== null && input.length >= SELECTOR_DIGITS && isNew(to + input.slice(2, SELECTOR_DIGITS)))
          unseen.add(to)
    return unseen
  }

  /** Undefined if the node does not serve the method. */
  async #touched(call: HintedCall, at: PinnedState): Promise<StateRead[] | undefined> {
    const [feature, hint] = this.#hint(call, at)
    if (hint === undefined) return []
    const started = performance.now()
    const outcome = await this.#queue.send(hint)
    const ended = performance.now()
    if (ended - started > SLOW_HINT_MS) this.#pausedUntil = ended + SLOW_LASTS_MS
    if ('value' in outcome) return outcome.value
    if (!isUnavailable(feature, outcome.error.fault)) return []
    this.#unserved.note(feature)
    return undefined
  }

  #hint(call: HintedCall, { block }: PinnedState): [Feature, UpstreamCall<StateRead[]> | undefined] {
    const at = this.#reads.reference(block)
    if (!this.#unserved.has('debug_traceCall')) return ['debug_traceCall', prestateHint(call, at)]
    const withOverrides = call.overrides.length > 0 && !this.#unserved.has('eth_createAccessList with overrides')
    const feature = withOverrides ? 'eth_createAccessList with overrides' : 'eth_createAccessList'
    return [feature, this.#unserved.has(feature) ? undefined : accessListHint(call, at, withOverrides)]
  }

  /** Undefined if there is nothing to read. Never rejects. */
  #read(touched: StateRead[], plan: SimulationPlan, at: PinnedState): Promise<unknown> | undefined {
    const overridden = new Overridden()
    for (const { stateOverrides } of plan.blocks) overridden.add(stateOverrides)
    const open = touched.filter((read) => !overridden.has(read) && layerValue(at.layers, read) === undefined)
    return this.#reads.askAhead(at, open.slice(0, MAX_TOUCHED))
  }
}

function hasManyOverrides({ blocks }: SimulationPlan): boolean {
  let count = 0
  for (const { stateOverrides } of blocks)
    for (const { state, stateDiff } of stateOverrides) {
      count += 1 + (state?.length ?? 0) + (stateDiff?.length ?? 0)
      if (count > MAX_OVERRIDES) return true
    }
  return false
}

/** Whether the node never serves such a hint. */
function isUnavailable(feature: Feature, fault: UpstreamFault): boolean {
  const refusesOverrides = fault.kind === 'rpc-error' && fault.detail.rpc?.code === -32602
  return isUnserved(fault) || (feature === 'eth_createAccessList with overrides' && refusesOverrides)
}

interface Replaced {
  balance: boolean
  nonce: boolean
  code: boolean
  wholeStorage: boolean
  slots: Set<string>
}

/** What the overrides of a plan's blocks replace and need not be read. */
export class Overridden {
  readonly #accounts = new Map<Address, Replaced>()

  add(overrides: readonly StateOverride[]): void {
    for (const override of overrides) {
      const known = this.#accounts.get(override.address)
      const account = known ?? { balance: false, nonce: false, code: false, wholeStorage: false, slots: new Set() }
      account.balance ||= override.balance !== undefined
      account.nonce ||= override.nonce !== undefined
      account.code ||= override.code !== undefined
      account.wholeStorage ||= override.state !== undefined
      for (const [slot] of override.stateDiff ?? []) account.slots.add(slot)
      this.#accounts.set(override.address, account)
    }
  }

  has(read: StateRead): boolean {
    if (read.kind === 'blockHash') return false
    const account = this.#accounts.get(read.address)
    if (account === undefined) return false
    return read.kind === 'storage' ? account.wholeStorage || account.slots.has(read.slot) : account[read.kind]
  }
}

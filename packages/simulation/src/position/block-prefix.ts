import { raceAbort } from '@upfront/node'
import { type Address, ErrorCode, type Hex, RpcError } from '@upfront/protocol'
import type { DriveLimits, Driver } from '../drive/driver.js'
import { type PinnedState, pinnedState } from '../drive/pinned-state.js'
import type { BlockEncoder } from '../engine/block-carrier.js'
import type { TouchedList, TouchedSlot } from '../engine/engine.js'
import {
  type BlockEnvironment,
  type BlockExecutionResult,
  type ExecutedReceipt,
  ExecutionRejected,
  type PreconfirmationExecutor,
  type PreconfirmedTransaction,
} from '../engine/preconfirmation-executor.js'
import type { StateLayer } from '../engine/state.js'
import type { ChainRules } from '../plan/chain-rules.js'
import { mergeLayers } from './merge-layers.js'

/** What executing a block's transactions needs. */
export interface PrefixSite extends DriveLimits {
  driver: Pick<Driver, 'run'>
  executor: PreconfirmationExecutor & BlockEncoder
  /** Called with the gas of newly executed transactions. */
  onExecuted?(gas: bigint): void
}

export interface PrefixOptions {
  rules: ChainRules
  environment: BlockEnvironment
  /** The state before the block's system calls and transactions. */
  below: PinnedState
  /** Returns the block's transactions as EIP-2718 bytes. Called when the first one is executed. */
  transactions: (site: PrefixSite) => Promise<readonly Hex[]>
  /** Checks the fully executed block; returns a description of the difference from the header, if any. */
  differenceOf?: (executed: BlockExecutionResult) => string | undefined
}

/**
 * The first transactions of a block, executed on demand, with the state after each: one layer for the opening system calls, and one per
 * transaction.
 */
export class BlockPrefix {
  readonly transactions: PreconfirmedTransaction[] = []
  readonly receipts: ExecutedReceipt[] = []
  readonly #options: PrefixOptions
  readonly #layers: StateLayer[] = []
  readonly #merged = new Map<string, StateLayer>()
  #weight = 1
  #raw: readonly Hex[] | undefined
  #underWay: Promise<void> | undefined

  constructor(options: PrefixOptions) {
    this.#options = options
  }

  /** Approximate number of state values in its layers. */
  get weight(): number {
    return this.#weight
  }

  /** Number of logs of the first `transactions` transactions, which must be executed. */
  logsBefore(transactions: number): number {
    return this.receipts.slice(0, transactions).reduce((sum, { logs }) => sum + logs.length, 0)
  }

  /** Whether no transaction between two positions, all executed, changed any of these accounts and slots. */
  isSame({ accounts, slots }: TouchedList, from: number, to: number): boolean {
    return !this.#layers.slice(from + 1, to + 1).some(({ accounts: changed }) => {
      const isOther = (address: Address) => {
        const { balance, nonce, code } = changed.get(address) ?? {}
        return (balance ?? nonce ?? code) !== undefined
      }
      const isSet = ({ address, slot }: TouchedSlot) => {
        const change = changed.get(address)
        return change !== undefined && (change.storageCleared || change.storage.has(slot))
      }
      return accounts.some(isOther) || slots.some(isSet)
    })
  }

  /** Replaces the block's transactions by a longer list that begins with the executed ones. */
  extendTo(raw: readonly Hex[]): void {
    this.#raw = raw
  }

  /**
   * The state after the opening system calls and the first `count` transactions, which must exist. Executes those still missing.
   * @throws RpcError -32000 if the block can't be executed here; what `Driver.run` does
   */
  async after(count: number, site: PrefixSite): Promise<PinnedState> {
    while (this.#layers.length <= count) {
      site.cancellation.signal.throwIfAborted()
      if (this.#underWay === undefined) {
        this.#underWay = this.#extend(count, site).finally(() => {
          this.#underWay = undefined
        })
        await this.#underWay
      } else {
        // The request that started it may be aborted, or need fewer transactions.
        await raceAbort(
          this.#underWay.catch(() => undefined),
          site.cancellation.signal,
        )
      }
    }
    const { below } = this.#options
    return pinnedState(below.block, [...below.layers, ...this.#layersUpTo(count + 1)])
  }

  async #extend(count: number, site: PrefixSite): Promise<void> {
    const { rules, environment, below, transactions, differenceOf } = this.#options
    const { driver, executor, cancellation } = site
    const { number } = environment
    const done = this.transactions.length
    const opening = this.#layers.length === 0
    let executed: BlockExecutionResult
    try {
      this.#raw = this.#raw !== undefined && this.#raw.length >= count ? this.#raw : await transactions(site)
      const execution = {
        ...{ rules, block: environment, opening, isSplit: true },
        transactions: this.#raw.slice(done, count),
        earlierReceipts: this.receipts,
      }
      const at = opening ? below : pinnedState(below.block, [...below.layers, ...this.#layersUpTo(this.#layers.length)])
      executed = await driver.run(() => executor.execute(execution, at, cancellation), at, site)
    } catch (error) {
      if (!(error instanceof ExecutionRejected)) throw error
      throw unlike(number, `transaction ${done + error.transaction}: ${error.message}`)
    }
    const difference = count === this.#raw.length ? differenceOf?.(executed) : undefined
    if (difference !== undefined) throw unlike(number, difference)
    this.#layers.push(...executed.layers)
    for (const layer of executed.layers) this.#weight += weightOf(layer)
    this.transactions.push(...executed.transactions)
    this.receipts.push(...executed.receipts)
    site.onExecuted?.(executed.receipts.reduce((sum, { gasUsed }) => sum + gasUsed, 0n))
  }

  /** Merges the first layers by powers of two: 13 layers become merged ones of 8, 4 and 1. */
  #layersUpTo(length: number): StateLayer[] {
    const layers: StateLayer[] = []
    let from = 0
    for (let size = 2 ** Math.floor(Math.log2(length)); size >= 1; size /= 2) {
      if (from + size > length) continue
      layers.push(this.#range(from, from + size))
      from += size
    }
    return layers
  }

  #range(from: number, to: number): StateLayer {
    if (to - from === 1) return this.#layers[from]!
    const key = `${from}-${to}`
    let merged = this.#merged.get(key)
    if (merged === undefined) {
      merged = mergeLayers(this.#layers.slice(from, to))
      this.#merged.set(key, merged)
      this.#weight += weightOf(merged)
    }
    return merged
  }
}

function unlike(number: bigint, detail: string): RpcError {
  return new RpcError(
    ErrorCode.serverError,
    `block ${number} executes to a result that differs from its header, so positions in it are not available: ${detail}`,
  )
}

function weightOf({ accounts }: StateLayer): number {
  let weight = 0
  for (const { storage } of accounts.values()) weight += 3 + storage.size
  return weight
}

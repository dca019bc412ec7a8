import { type Awaitable, Canceller, messageOf, UpstreamError, UpstreamFault } from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import type { DriveLimits, Driver } from '../drive/driver.js'
import { pinnedState } from '../drive/pinned-state.js'
import { ReadBudget } from '../drive/read-budget.js'
import type { BlockCarrier, BlockToCarry, Carried } from '../engine/block-carrier.js'
import type { ExecutedReceipt } from '../engine/preconfirmation-executor.js'
import type { StateLayer } from '../engine/state.js'
import type { BlockRules, ChainRules } from '../plan/chain-rules.js'
import type { AccessLists } from './access-lists.js'
import { CarriedAudit } from './audit.js'
import { blockToCarry, carryRules } from './block-to-carry.js'
import type { CarryEvent, CarryStatus, NotCarried } from './carry-event.js'
import { Pacer } from './pacer.js'
import type { SealedBlock } from './sealed-block.js'
import { senderFromRpc, UnknownTransactionType } from './sealed-transaction.js'

export interface StateCarrierOptions {
  rules: ChainRules
  engine: BlockCarrier
  driver: Pick<Driver, 'run' | 'readAtNode' | 'createOnLack'>
  /** Measured milliseconds between the chain's blocks. */
  intervalMs: () => number
  /** Source of block access lists; a block with one is not executed. */
  accessLists?: Pick<AccessLists, 'fetch' | 'pause'>
  /** What was already executed of this block before it was sealed (Flashblocks). */
  executed?: (block: SealedBlock, transactions: readonly Hash[]) => ExecutedPart | undefined
  observe: (event: CarryEvent) => void
  /** Milliseconds between audits. Default: a minute. */
  auditEveryMs?: number
  /** Whether the first carried block is audited at once, because nothing has confirmed the node yet. */
  auditsFirst?: boolean
}

/** A block's first transactions, executed on the parent's state after the opening system calls. */
export interface ExecutedPart {
  layers: readonly StateLayer[]
  receipts: ExecutedReceipt[]
}

/** A block that was followed before. */
type Followed = Pick<SealedBlock, 'header'>

/** Limit of blocks waiting for earlier ones to be executed. */
const MAX_WAITING = 16
/** Contradicted reads that each drop the cached state; one more also stops carrying. */
const MAX_DISPUTES = 3
/** Limit of state values read for one block. */
const MAX_READS = 200_000
const MIN_TIME_MS = 1_000
/** Timeout for a block's access list; then the block is executed. */
const MAX_LIST_MS = 2_000
/** Block intervals allowed for a block whose parent was not carried: it has to read most of its state, later blocks little. */
const COLD_INTERVALS = 4
const MAX_TIME_COLD_MS = 30_000
const AUDIT_EVERY_MS = 60_000

/**
 * Carries the engine's state from block to block: executes a block on its parent's cached state, and if the result matches the header,
 * keeps the parent's values plus the block's writes as the block's state. After any failure, requests on the block start with an empty
 * cache, as without a carrier.
 */
export class StateCarrier {
  readonly #options: StateCarrierOptions
  readonly #pacer: Pacer
  readonly #audit: CarriedAudit
  readonly #counts: Record<string, number> = {}
  #carried: bigint | undefined
  /** The block carried last. */
  #newest: Hash | undefined
  /** Settles when all blocks so far are processed. */
  #last: Promise<void> = Promise.resolve()
  #waiting = 0
  #disputes = 0
  #underWay: Canceller | undefined
  #closed = false

  constructor(options: StateCarrierOptions) {
    const { driver, auditEveryMs = AUDIT_EVERY_MS, auditsFirst } = options
    this.#options = options
    this.#pacer = new Pacer((pace, reason) => options.observe({ kind: 'pace', pace, reason }))
    this.#audit = new CarriedAudit({
      ...{ driver, everyMs: auditEveryMs, auditsFirst },
      onConfirmed: (header, values) => options.observe({ kind: 'audited', header, values }),
      onContradicted: (header, detail) => this.#distrust(header, detail),
    })
  }

  /**
   * Carries the state of `parent` to `block`, after earlier blocks are done. Never rejects; the result is reported as an event.
   * @param parent undefined if the block does not follow a known head
   */
  prepare(block: SealedBlock, parent: Followed | undefined): Promise<void> {
    if (this.#closed) return Promise.resolve()
    if (this.#waiting >= MAX_WAITING) {
      this.#reportNotCarried(block, 'behind', `${this.#waiting} blocks before it are not executed yet`)
      return Promise.resolve()
    }
    this.#waiting++
    this.#last = this.#last
      .then(() => this.#prepare(block, parent))
      .catch((error) => this.#reportNotCarried(block, 'failed', messageOf(error)))
      .finally(() => {
        this.#waiting--
      })
    return this.#last
  }

  status(): CarryStatus {
    return {
      pace: this.#pacer.pace,
      ...(this.#carried !== undefined && { carried: this.#carried }),
      counts: this.#counts,
    }
  }

  close(): void {
    this.#closed = true
    this.#audit.close()
    this.#underWay?.cancel(new Error('closed'))
  }

  async #prepare(block: SealedBlock, parent: Followed | undefined): Promise<void> {
    const { rules } = this.#options
    const { header } = block
    if (this.#closed) return
    if (parent === undefined || header.parentHash !== parent.header.hash)
      return this.#reportNotCarried(block, 'orphan', 'it does not follow a head that is known')
    if (!this.#pacer.allows(header.number)) return this.#reportNotCarried(block, 'paused', `pace: ${this.#pacer.pace}`)
    const blockRules = carryRules(rules, header, parent.header)
    if (blockRules === undefined)
      return this.#reportNotCarried(
        block,
        'fork',
        'a fork that changes state by itself begins, or its rules are unknown',
      )
    await this.#carry(block, parent, blockRules)
  }

  async #carry(block: SealedBlock, parent: Followed, rules: BlockRules): Promise<void> {
    const began = performance.now()
    const interval = this.#options.intervalMs()
    const isCold = this.#newest !== parent.header.hash
    const most = isCold ? this.#coldTimeLimit(interval) : Math.max(interval, MIN_TIME_MS)
    const canceller = new Canceller()
    const late = new Error(`not executed within ${Math.round(most)} ms`)
    const timer = setTimeout(() => canceller.cancel(late), most)
    const budget = new ReadBudget(MAX_READS, began + most)
    const limits = { budget, cancellation: canceller }
    this.#underWay = canceller
    let carried: Carried
    let isListed = true
    try {
      const listed = await this.#carryListed(block, parent, limits)
      isListed = listed !== undefined
      carried = listed ?? (await this.#execute(block, parent, rules, limits, isCold))
    } catch (error) {
      if (this.#closed) return
      const isLate = error === late
      if (isLate) this.#pacer.noteUseless(late.message)
      return this.#reportNotCarried(block, isLate ? 'late' : reasonOf(error), messageOf(error))
    } finally {
      clearTimeout(timer)
      this.#underWay = undefined
    }
    const tookMs = performance.now() - began
    if (this.#pacer.pace === 'distrusted') {
      // The node contradicted a value during the execution.
      this.#options.engine.clearCache()
      return this.#reportNotCarried(block, 'paused', 'pace: distrusted')
    }
    if (carried.kind === 'differs') return this.#onDifference(block, carried)
    if (!isCold) this.#pacer.noteCarried(tookMs, interval)
    this.#carried = block.header.number
    this.#newest = block.header.hash
    this.#count('carried')
    this.#audit.note(block.header, carried.sample)
    const { header, transactions } = block
    const facts = { transactions: transactions.length, written: carried.written, read: budget.used, tookMs, isListed }
    this.#options.observe({ kind: 'carried', header, ...facts })
  }

  /** Carries the block by its access list; undefined if that is not possible. */
  async #carryListed({ header }: SealedBlock, parent: Followed, limits: DriveLimits): Promise<Carried | undefined> {
    const { engine, driver, accessLists } = this.#options
    const { hash, number, blockAccessListHash } = header
    if (accessLists === undefined || blockAccessListHash === undefined) return undefined
    const { signal } = limits.cancellation
    const accessList = await accessLists.fetch(hash, { signal, deadline: performance.now() + MAX_LIST_MS })
    if (accessList === undefined) return undefined
    const at = pinnedState({ header: parent.header, key: parent.header.hash })
    const listed = { hash, number, blockAccessListHash, accessList }
    const carried = await driver.run(() => engine.carryListed(listed, at, limits.cancellation), at, limits)
    if (carried.kind !== 'differs' || carried.difference !== 'blockAccessListHash') return carried
    accessLists.pause()
    this.#options.observe({ kind: 'listRefused', header, detail: carried.detail })
    return undefined
  }

  /** @throws UpstreamFault, UnknownTransactionType, or rejects with what `Driver.run` does */
  #execute(
    block: SealedBlock,
    parent: Followed,
    rules: BlockRules,
    limits: DriveLimits,
    isCold: boolean,
  ): Awaitable<Carried> {
    const { engine, driver, rules: chain } = this.#options
    const toCarry = blockToCarry(block, chain, rules)
    const { layers, receipts } = this.#alreadyExecuted(block, toCarry)
    const at = pinnedState({ header: parent.header, key: parent.header.hash }, layers)
    const begin = () => engine.carry({ ...toCarry, earlierReceipts: receipts }, at, limits.cancellation)
    const calls = () =>
      toCarry.transactions.map((call, index) => ({ ...call, from: senderFromRpc(block.transactions[index]) }))
    return driver.run(begin, at, limits, isCold ? driver.createOnLack(block.header, calls, at) : undefined)
  }

  /** Time limit in milliseconds for a block whose parent was not carried. */
  #coldTimeLimit(intervalMs: number): number {
    const interval = Math.max(intervalMs, 1_000 * Number(this.#options.rules.schedule.blockTime))
    return Math.max(MIN_TIME_MS, Math.min(COLD_INTERVALS * interval, MAX_TIME_COLD_MS))
  }

  /** The part that need not be executed again. Used only if nothing after the transactions needs their logs. */
  #alreadyExecuted(block: SealedBlock, { block: { rules }, transactions }: BlockToCarry): ExecutedPart {
    const nothing = { layers: [], receipts: [] }
    if (rules.opFork === undefined) return nothing
    const hashes = transactions.map(({ hash }) => hash)
    return this.#options.executed?.(block, hashes) ?? nothing
  }

  #onDifference({ header, ...block }: SealedBlock, { difference, detail }: Carried & { kind: 'differs' }): void {
    if (difference === 'conflictingValue') {
      // Either the read or the carried value is wrong, and it is unknown which: drop both.
      this.#options.engine.clearCache()
      this.#disputes++
      if (this.#disputes > MAX_DISPUTES) {
        this.#distrust(header, `a value read at this block or before: ${detail}`)
        return
      }
    } else if (difference !== 'parent') this.#pacer.noteUseless(`${difference}: ${detail}`)
    this.#reportNotCarried({ header, ...block }, difference, detail)
  }

  #distrust(header: SealedBlock['header'], detail: string): void {
    this.#options.engine.clearCache()
    this.#pacer.distrust()
    this.#audit.close()
    this.#options.observe({ kind: 'distrusted', header, detail })
  }

  #reportNotCarried({ header }: SealedBlock, reason: NotCarried, detail: string): void {
    this.#count(reason)
    this.#options.observe({ kind: 'notCarried', header, reason, detail, isFirst: this.#counts[reason] === 1 })
  }

  #count(what: 'carried' | NotCarried): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
  }
}

function reasonOf(error: unknown): NotCarried {
  if (error instanceof UpstreamFault || error instanceof UnknownTransactionType) return 'undecodable'
  return error instanceof UpstreamError ? 'unreadable' : 'failed'
}

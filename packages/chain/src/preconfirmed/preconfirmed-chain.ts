import { Canceller, messageOf } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import {
  type ChainRules,
  type Driver,
  type ExecutedPart,
  ExecutionRejected,
  executeTransactions,
  type PinnedState,
  type PreconfirmationExecutor,
  pinnedState,
  ReadBudget,
  type StateLayer,
} from '@upfront/simulation'
import { differenceOf, executedPart, extendBlock } from './executed-block.js'
import type { Flashblock } from './flashblock.js'
import {
  type BlockPrefix,
  type CanonicalBlock,
  environmentOf,
  FlashblockStore,
  type PreconfirmedEvent,
} from './flashblock-store.js'
import { RecentReads } from './recent-reads.js'
import { headerOf, type PreconfirmedBlock, type PreconfirmedSnapshot } from './snapshot.js'

export interface PreconfirmedChainOptions {
  rules: ChainRules
  executor: PreconfirmationExecutor
  driver: Pick<Driver, 'run' | 'readAhead'>
  observe: (event: PreconfirmedEvent) => void
  /** Called with each new snapshot of `pending`. */
  onSnapshot?: (snapshot: PreconfirmedSnapshot) => void
  /** Time limit of one execution, including reads. */
  executionTimeoutMs: number
}

const RETRY_MS = 100
/** Most values prefetched for a new head, in a few HTTP requests. */
const READ_AHEAD = 4_096
/** Most values of state that one block's transactions may read. */
const MAX_READS = 1_000_000

/**
 * Keeps the executed blocks in line with the received flashblocks and the node's head. Every input only changes the desired chain. One loop
 * compares it with the executed blocks, drops what no longer fits and executes what is missing.
 */
export class PreconfirmedChain {
  readonly #store = new FlashblockStore()
  readonly #receivedAt = new WeakMap<Flashblock, number>()
  readonly #recentReads = new RecentReads(READ_AHEAD)
  /** The newest block seen at the node, and the block that `blocks` build on. */
  #head: CanonicalBlock
  #base: CanonicalBlock
  #blocks: PreconfirmedBlock[] = []
  #snapshot: PreconfirmedSnapshot | undefined
  /** The first pre-confirmed block on the previous base. It became the head, or the head replaced it. */
  #previousFirst: PreconfirmedBlock | undefined
  #running = false
  #isStale = false
  #closed = false
  #execution: { canceller: Canceller; blockNumber: bigint } | undefined
  /** Set after executing several flashblocks at once failed: they are executed one by one, to find the first faulty one. */
  #oneByOne = false
  readonly #options: PreconfirmedChainOptions

  constructor(options: PreconfirmedChainOptions, head: CanonicalBlock) {
    this.#options = options
    this.#head = head
    this.#base = head
  }

  /** The newest snapshot; absent if `pending` is the canonical head. */
  current(): PreconfirmedSnapshot | undefined {
    return this.#snapshot
  }

  /** Whether an input is still being processed. */
  get isBusy(): boolean {
    return this.#running
  }

  /** What was executed of the block with this header and these transactions; undefined if another block was executed. */
  executed(header: BlockHeader, transactions: readonly Hash[]): ExecutedPart | undefined {
    for (const block of [this.#blocks[0], this.#previousFirst]) {
      const part = block && executedPart(block, header, transactions)
      if (part !== undefined) return part
    }
    return undefined
  }

  onFlashblock(flashblock: Flashblock): void {
    const arrival = this.#store.add(flashblock, this.#head.header)
    const { blockNumber, index } = flashblock
    this.#options.observe({ kind: 'arrival', arrival, blockNumber, index })
    if (arrival === 'duplicate' || arrival === 'ahead') return
    this.#receivedAt.set(flashblock, Date.now())
    this.#wake()
  }

  onHead(head: CanonicalBlock): void {
    if (head.header.hash === this.#head.header.hash) return
    const { reorganised } = head
    if (reorganised) this.#options.observe({ kind: 'reorganised', blockNumber: head.header.number })
    this.#head = head
    this.#store.prune(head.header)
    if (this.#execution && (reorganised || this.#execution.blockNumber <= head.header.number))
      this.#execution.canceller.cancel(new Error('overtaken by the head'))
    this.#wake()
  }

  /** Reports a lost connection: the newest block may miss its last flashblocks. */
  onInterrupted(): void {
    this.#store.interrupt()
  }

  close(): void {
    this.#closed = true
    this.#execution?.canceller.cancel(new Error('closed'))
  }

  #wake(): void {
    this.#isStale = true
    if (!this.#running) void this.#run()
  }

  async #run(): Promise<void> {
    this.#running = true
    try {
      while (this.#isStale && !this.#closed) {
        this.#isStale = false
        await this.#step()
      }
    } catch (error) {
      this.#isStale = false
      this.#blocks = []
      this.#snapshot = undefined
      this.#options.observe({ kind: 'failed', reason: messageOf(error) })
    } finally {
      this.#running = false
    }
  }

  /** Brings the executed chain one step closer to the desired one. */
  async #step(): Promise<void> {
    this.#adoptHead()
    const desired = this.#store.desiredChain(this.#base.header)
    this.#dropDiverged(desired)
    this.#publish()
    const next = this.#nextExecution(desired)
    if (!next) return
    this.#isStale = true
    await this.#executeTransactions(next)
  }

  /** Moves `blocks` from their old base to the node's head, if the head is the block that was pre-confirmed. */
  #adoptHead(): void {
    const head = this.#head
    const base = this.#base
    if (head === base) return
    this.#base = head
    this.#store.clearFaultsAbove(head.header.number)
    this.#readAhead(head.header)
    const [first, ...above] = this.#blocks
    if (first !== undefined) this.#previousFirst = first
    if (!first) return
    const sameHeight = first.environment.number === head.header.number
    const same =
      sameHeight &&
      head.header.parentHash === base.header.hash &&
      head.header.gasUsed === first.gasUsed &&
      head.transactionHashes.length === first.transactions.length &&
      head.transactionHashes.every((hash, i) => hash === first.transactions[i]?.hash)
    if (same) this.#options.observe({ kind: 'folded', blockNumber: head.header.number })
    else if (sameHeight) this.#options.observe({ kind: 'differs', blockNumber: head.header.number })
    this.#blocks = same && above[0]?.environment.parentHash === head.header.hash ? above : []
  }

  /** Reads at the new head what recent blocks read, before its flashblocks need it. */
  #readAhead(head: BlockHeader): void {
    const reads = this.#recentReads.all()
    if (reads.length === 0) return
    this.#options.driver.readAhead(reads, stateOn(head, []))
  }

  #dropDiverged(desired: BlockPrefix[]): void {
    const agreeing = this.#blocks.findIndex(
      (block, i) => desired[i]?.payloadId !== block.payloadId || desired[i].blockNumber !== block.environment.number,
    )
    if (agreeing !== -1) this.#blocks = this.#blocks.slice(0, agreeing)
  }

  #publish(): void {
    const [first, ...above] = this.#blocks
    if (!first) {
      if (this.#snapshot) this.#options.observe({ kind: 'fallback' })
      this.#snapshot = undefined
      return
    }
    const newest = above.at(-1) ?? first
    if (this.#snapshot?.blocks.at(-1) === newest && this.#snapshot.head === this.#base.header) return
    const flashblock = this.#store.find(newest.environment.number, newest.payloadId)?.byIndex.get(newest.index)
    this.#snapshot = {
      head: this.#base.header,
      blocks: [first, ...above],
      state: stateOn(
        this.#base.header,
        this.#blocks.flatMap((block) => block.layers),
      ),
      receivedAt: (flashblock && this.#receivedAt.get(flashblock)) ?? Date.now(),
    }
    this.#options.onSnapshot?.(this.#snapshot)
  }

  /** The flashblocks to execute next: all that one block lacks, because only the newest is shown and its totals are cumulative. */
  #nextExecution(desired: BlockPrefix[]): { prefix: BlockPrefix; from: number; to: number; at: number } | undefined {
    for (const [at, prefix] of desired.entries()) {
      const from = (this.#blocks[at]?.index ?? -1) + 1
      const to = this.#oneByOne ? from : prefix.flashblocks.length - 1
      if (from < prefix.flashblocks.length) return { prefix, from, to, at }
    }
    return undefined
  }

  async #executeTransactions(next: { prefix: BlockPrefix; from: number; to: number; at: number }): Promise<void> {
    const { prefix, from, to, at } = next
    const base = this.#base
    const blocks = this.#blocks
    const below = blocks.slice(0, at)
    const before = blocks[at]
    const flashblocks = prefix.flashblocks.slice(from, to + 1)
    const newest = flashblocks.at(-1) as Flashblock
    const under = below.at(-1)
    const parent = under ? headerOf(under, prefix.base.parentHash, base.header) : base.header
    const environment = before?.environment ?? environmentOf(prefix, parent, this.#options.rules)
    if (!environment) return this.#refuse({ ...next, to: from }, `no rules are known for time ${prefix.base.timestamp}`)
    const layers = [...below, ...(before ? [before] : [])].flatMap((block) => block.layers)
    const execution = {
      rules: this.#options.rules,
      block: environment,
      opening: before === undefined,
      transactions: flashblocks.flatMap((each) => each.transactions),
      earlierReceipts: [...(before?.receipts ?? [])],
    }
    const canceller = new Canceller()
    const { signal } = canceller
    this.#execution = { canceller, blockNumber: environment.number }
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      canceller.cancel(new Error(`executing took more than ${this.#options.executionTimeoutMs} ms`))
    }, this.#options.executionTimeoutMs)
    try {
      const { executor, driver, executionTimeoutMs } = this.#options
      const executed = await executeTransactions(execution, stateOn(base.header, layers), {
        executor,
        driver,
        cancellation: canceller,
        budget: new ReadBudget(MAX_READS, performance.now() + executionTimeoutMs),
        onLack: (reads) => {
          this.#recentReads.note(reads)
          return undefined
        },
      })
      const difference = differenceOf(executed, newest)
      if (difference) return this.#refuse(next, difference)
      this.#blocks = [...below, extendBlock(before, environment, executed, newest)]
      this.#store.clearFaultsAbove(environment.number)
      this.#oneByOne = false
      this.#options.observe({
        kind: 'visible',
        blockNumber: environment.number,
        index: newest.index,
        transactions: execution.transactions.length,
        gasUsed: executed.gasUsed,
        afterMs: Date.now() - (this.#receivedAt.get(newest) ?? Date.now()),
      })
    } catch (error) {
      if (error instanceof ExecutionRejected) {
        const kind = error.nativePrecompile === undefined ? 'mismatch' : 'nativePrecompile'
        return this.#refuse(next, `transaction ${error.transaction}: ${error.message}`, kind)
      }
      if (signal.aborted && !timedOut) return
      const reason = messageOf(error)
      this.#options.observe({ kind: 'unreadable', blockNumber: environment.number, reason })
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    } finally {
      clearTimeout(timer)
      this.#execution = undefined
    }
  }

  /** Drops a faulty flashblock and all that follow it. If several were executed, finds the first faulty one. */
  #refuse(
    { prefix, from, to }: { prefix: BlockPrefix; from: number; to: number },
    reason: string,
    kind: 'mismatch' | 'nativePrecompile' = 'mismatch',
  ): void {
    if (to > from) {
      this.#oneByOne = true
      return
    }
    this.#oneByOne = false
    const payload = this.#store.find(prefix.blockNumber, prefix.payloadId)
    if (payload) payload.faultyFrom = from
    this.#options.observe({ kind, blockNumber: prefix.blockNumber, index: from, reason })
  }
}

function stateOn(header: BlockHeader, layers: readonly StateLayer[]): PinnedState {
  return pinnedState({ header, key: header.hash }, layers)
}

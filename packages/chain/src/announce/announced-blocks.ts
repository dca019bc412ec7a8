import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cancellation, EventLoopTurn } from '@upfront/node'
import { ErrorCode, type Hash, RpcError } from '@upfront/protocol'
import { type BlockLogs, MAX_LOGS, weightOfLogs } from '../blocks/block-contents.js'
import type { FollowedBlock } from '../blocks/followed-block.js'
import type { ChainChange, KeptBlocks } from '../follow/kept-blocks.js'
import type { BlockResolver } from '../head/block-resolver.js'
import {
  type AnnouncedBlock,
  announcedBlock,
  type BlockChange,
  type BlockListener,
  type KnownChange,
  unknownPosition,
} from './announced-block.js'
import { notifyInTurns } from './notify-in-turns.js'

/** Most older blocks read from the node for a listener that resumes. */
const MAX_BLOCKS_BACK = 64
/** Most changes kept for listeners that resume. */
const MAX_CHANGES = 512
/** How long blocks are followed after the last listener left, and logs are read after the last listener that wanted them. */
const LINGER_MS = 60_000
const ASK_TIMEOUT_MS = 10_000
/** How many timeouts a new listener waits for the head, provided that blocks keep arriving. */
const MAX_WAITS = 6
/** Most heads queued while logs can't be read. */
const MAX_WAITING = 64
/** Pause before failed reads of logs are repeated. */
const RETRY_MS = 250

/** The chain whose blocks are announced: see `Chain`. */
export interface AnnouncedChain {
  listen(listener: (change: ChainChange<FollowedBlock>) => void): () => void
  readonly tip: FollowedBlock | undefined
  sealed(hash: Hash, cancellation: Cancellation): Promise<FollowedBlock | undefined>
  readonly resolver: Pick<BlockResolver, 'head' | 'askHead'>
  readonly logs: Pick<BlockLogs, 'of'>
  readonly head: { kept: Pick<KeptBlocks<FollowedBlock>, 'fetched'> }
}

/** Announces followed blocks to listeners one by one, with their logs, and the blocks that a reorganisation removes. */
export class AnnouncedBlocks {
  readonly #listeners = new Set<BlockListener>()
  /** The changes announced so far, newest last. */
  #changes: BlockChange[] = []
  #queue: Promise<void> = Promise.resolve()
  /** Number of heads waiting to be announced. */
  #queuedChanges = 0
  /** Blocks that a waiting head removes. The node may no longer have their logs. */
  readonly #removing = new Set<Hash>()
  /** Blocks that the last head dropped, newest first. It may only lag: they count as removed once another branch replaces them. */
  #removedHashes: Hash[] = []
  readonly #heads = new EventEmitter().setMaxListeners(0)
  #end: (() => void) | undefined
  #lingering: NodeJS.Timeout | undefined
  #logsWantedUntil = 0

  readonly #chain: AnnouncedChain
  readonly #onDelayed: (reason: string) => void
  readonly #timeoutMs: number

  /**
   * @param onDelayed called with the reason when a block can't be announced yet; it is tried again
   * @param timeoutMs how long to wait for the node
   */
  constructor(chain: AnnouncedChain, onDelayed: (reason: string) => void, timeoutMs = ASK_TIMEOUT_MS) {
    this.#chain = chain
    this.#onDelayed = onDelayed
    this.#timeoutMs = timeoutMs
  }

  /**
   * Listens from the node's head on, or from after a change that the listener knows.
   * @returns a function that stops listening
   * @throws RpcError -32001 if that change is too old or on an unknown branch, or if the node does not serve a block that is needed; the
   * errors of `BlockResolver.head`
   */
  async listen(listener: BlockListener, known?: KnownChange): Promise<() => void> {
    clearTimeout(this.#lingering)
    if (this.#end === undefined) this.#start()
    const leave = () => {
      this.#listeners.delete(listener)
      this.#stopIfUnused()
    }
    try {
      await this.#awaitHead(known)
      if (known !== undefined) await this.#prefetchMissed(known, listener.wantsLogs ?? false)
      await this.#enqueue(async () => {
        if (known !== undefined) listener.resumed?.(await this.#changesFrom(known, listener.wantsLogs ?? false))
        this.#listeners.add(listener)
      })
    } catch (error) {
      leave()
      throw error
    }
    return leave
  }

  close(): void {
    clearTimeout(this.#lingering)
    this.#stop()
  }

  #start(): void {
    const { tip } = this.#chain
    this.#removedHashes = []
    this.#changes = tip === undefined ? [] : [{ kind: 'added', block: announcedBlock(tip) }]
    const end = this.#chain.listen((change) => this.#onChange(change, () => this.#end !== end))
    this.#end = end
  }

  /** Waits until the node's head is followed. */
  async #awaitHead(known: KnownChange | undefined): Promise<void> {
    const limits = this.#limits()
    const isAhead = () => known !== undefined && known.number > (this.#chain.tip?.header.number ?? -1n)
    const head = await (isAhead() ? this.#chain.resolver.askHead(limits) : this.#chain.resolver.head(limits))
    const { kept } = this.#chain.head
    let fetched = kept.fetched
    for (let waits = 0; this.#chain.tip === undefined || this.#chain.tip.header.number < head.number; )
      await once(this.#heads, 'head', this.#limits()).catch(() => {
        waits += 1
        // Missed blocks before the head are fetched one after another and announced together.
        if (kept.fetched === fetched || waits === MAX_WAITS) throw notServed(head.hash)
        fetched = kept.fetched
      })
  }

  #stopIfUnused(): void {
    if (this.#listeners.size > 0) return
    clearTimeout(this.#lingering)
    this.#lingering = setTimeout(() => {
      if (this.#listeners.size === 0) this.#stop()
    }, LINGER_MS).unref()
  }

  #stop(): void {
    this.#end?.()
    this.#end = undefined
    this.#changes = []
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => undefined)
    return done
  }

  /** @param isOver whether this chain is no longer followed */
  #onChange({ removed, added, isGap }: ChainChange<FollowedBlock>, isOver: () => boolean): void {
    this.#heads.emit('head')
    if (isGap || this.#queuedChanges === MAX_WAITING) {
      this.#restart()
      return
    }
    const left = [...this.#removedHashes, ...removed.map(({ hash }) => hash)]
    const again = added.findIndex(({ header: { hash } }, index) => left.at(-1 - index) !== hash)
    const same = again < 0 ? added.length : again
    this.#removedHashes = left.slice(0, left.length - same)
    if (same === added.length) return
    const fresh = added.slice(same).map(announcedBlock)
    const gone = this.#removedHashes
    this.#removedHashes = []
    for (const hash of gone) this.#removing.add(hash)
    this.#queuedChanges += 1
    void this.#enqueue(async () => {
      if (!isOver()) await this.#announce(gone, fresh, isOver)
      for (const hash of gone) this.#removing.delete(hash)
      this.#queuedChanges -= 1
    })
  }

  async #announce(gone: readonly Hash[], fresh: readonly AnnouncedBlock[], isOver: () => boolean): Promise<void> {
    for (const block of fresh) if (this.#wantsLogs()) await this.#tryLogs(block, isOver)
    for (const hash of gone) {
      if (isOver()) return
      const told = this.#changes.findLast(({ block }) => block.hash === hash)
      if (told?.kind === 'added') await this.#notifyAll({ kind: 'removed', block: told.block })
    }
    for (const block of fresh) {
      if (isOver()) return
      await this.#notifyAll({ kind: 'added', block })
    }
    this.#forgetOldLogs()
  }

  /** More blocks came at once than are announced. Listeners are told to subscribe again, so that they notice the gap. */
  #restart(): void {
    const end = this.#end
    this.#start()
    end?.()
    const told = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of told) listener.ended?.('too many blocks at once: subscribe again')
    this.#stopIfUnused()
  }

  /** Retries until the logs are read or the block is removed. */
  async #tryLogs(block: AnnouncedBlock, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      try {
        return await this.#readLogs(block)
      } catch (error) {
        if (this.#removing.has(block.hash)) return
        this.#onDelayed(String(error))
        await sleep(RETRY_MS, undefined, { ref: false })
      }
    }
  }

  /** Spread over turns of the event loop, because there may be thousands of listeners and logs. */
  async #notifyAll(change: BlockChange): Promise<void> {
    this.#changes.push(change)
    if (this.#changes.length > MAX_CHANGES) this.#changes.shift()
    const turn = new EventLoopTurn()
    const told: [BlockListener, readonly string[]][] = []
    for (const listener of this.#listeners) {
      listener[change.kind]?.(change.block)
      const texts = listener.texts?.(change) ?? []
      if (texts.length > 0) told.push([listener, texts])
      await turn.yieldIfLong()
    }
    await notifyInTurns(told, turn, (listener, texts) => this.#listeners.has(listener) && listener.notify?.(...texts))
  }

  #wantsLogs(): boolean {
    const now = performance.now()
    if ([...this.#listeners].some(({ wantsLogs }) => wantsLogs)) this.#logsWantedUntil = now + LINGER_MS
    return now < this.#logsWantedUntil
  }

  #forgetOldLogs(): void {
    let kept = 0
    for (const block of new Set(this.#changes.toReversed().map(({ block }) => block))) {
      kept += weightOfLogs(block.logs)
      if (kept <= MAX_LOGS) continue
      block.logs = []
      block.hasLogs = false
    }
  }

  /** Fetches what a resuming listener needs before its turn in the queue, so that announcements don't wait for the node. */
  async #prefetchMissed(known: KnownChange, wantsLogs: boolean): Promise<void> {
    const at = this.#changes.findLastIndex(({ block }) => block.hash === known.hash)
    const blocks: Pick<AnnouncedBlock, 'hash' | 'logsBloom'>[] = []
    for (const { block } of this.#changes.slice(Math.max(at, 0))) if (!block.hasLogs) blocks.push(block)
    let next = at < 0 ? this.#chain.tip?.header : undefined
    for (let read = 0; next !== undefined && next.number > known.number && read < MAX_BLOCKS_BACK; read += 1) {
      next = (await this.#chain.sealed(next.parentHash, this.#limits()))?.header
      if (next !== undefined) blocks.push(next)
    }
    let logs = 0
    for (const block of wantsLogs ? blocks : []) {
      const read = await this.#chain.logs.of(block, this.#limits()).catch(() => {
        throw unknownPosition(known, this.#changes[0]!.block.number)
      })
      logs += weightOfLogs(read)
      if (logs > MAX_LOGS) return
    }
  }

  /** The change that a listener knows and all later ones, with logs if it wants them. */
  async #changesFrom(known: KnownChange, wantsLogs: boolean): Promise<readonly BlockChange[]> {
    const { kind, number, hash } = known
    const find = () => this.#changes.findLastIndex(({ kind: its, block }) => its === kind && block.hash === hash)
    if (find() < 0 && kind === 'added') await this.#prependOlder(number)
    const at = find()
    if (at < 0) throw unknownPosition(known, this.#changes[0]!.block.number)
    const changes = this.#changes.slice(at)
    if (wantsLogs) await this.#readLogsOf(changes)
    return changes
  }

  async #readLogsOf(changes: readonly BlockChange[]): Promise<void> {
    let weight = 0
    for (const { kind, block } of changes) {
      await this.#readLogs(block).catch(() => {
        throw unknownPosition({ kind, ...block }, this.#changes[0]!.block.number)
      })
      weight += weightOfLogs(block.logs)
      if (weight > MAX_LOGS)
        throw new RpcError(
          ErrorCode.limitExceeded,
          'resume: too many logs came since then: subscribe without it, and use eth_getLogs',
        )
    }
  }

  /** Reads the chain back to a block from before the first listener: another replica may have announced it. */
  async #prependOlder(number: bigint): Promise<void> {
    const [first] = this.#changes
    if (first!.kind === 'removed' || this.#chain.tip!.header.number - number >= MAX_BLOCKS_BACK) return
    const older: AnnouncedBlock[] = []
    for (let next = first!.block; next.number > number; next = older[0]!) {
      const block = await this.#chain.sealed(next.parentHash, this.#limits())
      if (block === undefined) throw notServed(next.parentHash)
      older.unshift(announcedBlock(block))
    }
    this.#changes.unshift(...older.map((block) => ({ kind: 'added' as const, block })))
  }

  async #readLogs(block: AnnouncedBlock): Promise<void> {
    if (block.hasLogs) return
    block.logs = await this.#chain.logs.of(block, this.#limits())
    block.hasLogs = true
  }

  #limits(): { signal: AbortSignal } {
    return { signal: AbortSignal.timeout(this.#timeoutMs) }
  }
}

function notServed(hash: Hash): RpcError {
  return new RpcError(ErrorCode.resourceNotFound, `the node does not serve block ${hash} yet: subscribe again`)
}

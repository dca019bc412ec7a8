import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common'
import { Branch, missedBlocks } from '@upfront/chain'
import { Turn } from '@upfront/node'
import { ErrorCode, type Hash, type Hex, RpcError } from '@upfront/protocol'
import { LOGGER, type Logger } from '@upfront/service'
import { type BlockLog, BlockLogs } from './block-logs.js'
import type { FollowedBlock } from './followed-block.js'
import { FollowedChain } from './followed-chain.js'

/** Blocks kept to compare with: a deeper reorganisation is announced from here on. */
const KEPT = 64
/** Logs kept of all blocks; older ones are not taken back. */
const MOST_LOGS = 50_000
/** Changes that a listener who comes back can resume from. */
const MOST_CHANGES = 512
/** How long blocks are followed after the last listener left, and their logs read after the last who wanted them. */
const LINGER_MS = 60_000
const ASK_TIMEOUT_MS = 10_000
/** Blocks between two heads that are fetched and told one by one. */
const MOST_BRIDGED = 256
/** A head that could not be told is tried again. */
const RETRY_MS = 250
/** Notifications that a listener is given at once. */
const GIVEN_AT_ONCE = 128

export interface AnnouncedBlock {
  hash: Hash
  parentHash: Hash
  number: bigint
  logsBloom: Hex
  /** As geth announces it: JSON. */
  header: string
  /** Empty where nobody wanted logs when it was announced. */
  logs: readonly BlockLog[]
  /** Whether `logs` is what the node has. */
  hasLogs: boolean
}

/** A block that joined the chain, or that a reorganisation took back. */
export interface BlockChange {
  kind: 'added' | 'removed'
  block: AnnouncedBlock
}

/** The last change that a listener knows. */
export interface KnownChange {
  kind: 'added' | 'removed'
  number: bigint
  hash: Hash
}

export interface BlockListener {
  wantsLogs?: boolean
  /** What the listener is told of a change, as JSON: `notify` is called with a part of it at a time, in turns of the event loop. */
  texts?(change: BlockChange): readonly string[]
  notify?(...texts: string[]): void
  /** Called where blocks came that can't be told: nothing is told any more. */
  ended?(reason: string): void
  /** Called first where the listener resumes: with the change that it named, and all that followed. */
  resumed?(changes: readonly BlockChange[]): void
  /** Called with each block in the order of the chain. */
  added?(block: AnnouncedBlock): void
  /** Called with each block that a reorganisation takes back, the newest first. */
  removed?(block: AnnouncedBlock): void
}

/** What of a block is not in its header (`types.Header` of go-ethereum). */
const NOT_IN_HEADER = ['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty', 'calls']

/** The followed blocks one by one, none left out, and what a reorganisation takes back, for those who listen. */
@Injectable()
export class AnnouncedBlocks implements OnApplicationShutdown {
  private readonly listeners = new Set<BlockListener>()
  private readonly chain = new Branch<AnnouncedBlock>(KEPT)
  /** What listeners were told, newest last. */
  private changes: BlockChange[] = []
  private work: Promise<void> = Promise.resolve()
  private end: (() => void) | undefined
  private lingering: NodeJS.Timeout | undefined
  private logsWantedUntil = 0

  /** The newest head, and whether it is still to be told. */
  private newest: { hash: Hash; number: bigint } | undefined
  private retry: NodeJS.Timeout | undefined
  /** Blocks that were fetched to be told, while others before them are missing. */
  private readonly found = new Map<Hash, AnnouncedBlock>()

  constructor(
    private readonly followed: FollowedChain,
    private readonly blockLogs: BlockLogs,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Listens from the node's head on, or from after a change that the listener knows.
   * @returns what ends it
   * @throws RpcError -32001 where that change is too old or on a branch that is not known; as `FollowedChain.newest`
   */
  async listen(listener: BlockListener, known?: KnownChange): Promise<() => void> {
    clearTimeout(this.lingering)
    if (this.end === undefined) this.start()
    const leave = () => {
      this.listeners.delete(listener)
      this.stopIfUnheard()
    }
    try {
      if (known !== undefined) await this.lookBack(known)
      await this.inTurn(async () => {
        if (this.chain.tip === undefined) {
          const block = await this.block((await this.followed.newest(within())).hash)
          this.chain.startAt(block)
          this.changes = [{ kind: 'added', block }]
        }
        if (known !== undefined) listener.resumed?.(await this.changesFrom(known, listener.wantsLogs ?? false))
        this.listeners.add(listener)
      })
    } catch (error) {
      leave()
      throw error
    }
    return leave
  }

  onApplicationShutdown(): void {
    clearTimeout(this.lingering)
    this.stop()
  }

  private start(): void {
    const unlisten = this.followed.onHead(({ header: { hash, number } }) => this.announce(hash, number))
    const rest = this.followed.head.keepFollowing()
    this.end = () => {
      unlisten()
      rest()
    }
  }

  private stopIfUnheard(): void {
    if (this.listeners.size > 0) return
    clearTimeout(this.lingering)
    this.lingering = setTimeout(() => {
      if (this.listeners.size === 0) this.stop()
    }, LINGER_MS).unref()
  }

  private stop(): void {
    this.end?.()
    this.end = undefined
    clearTimeout(this.retry)
    this.chain.startAt()
    this.changes = []
    this.found.clear()
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.work.then(work)
    this.work = done.catch(() => undefined)
    return done
  }

  private announce(hash: Hash, number: bigint): void {
    clearTimeout(this.retry)
    this.newest = { hash, number }
    this.inTurn(() => this.advance(hash, number)).catch((error) => {
      this.logger.warn({ reason: String(error) }, 'a followed block could not be announced yet')
      if (this.end === undefined || this.newest?.hash !== hash) return
      this.retry = setTimeout(() => this.announce(hash, number), RETRY_MS).unref()
    })
  }

  /** Announces all blocks up to this one. */
  private async advance(hash: Hash, number: bigint): Promise<void> {
    const { tip, oldest } = this.chain
    // A lower head only lags: should it replace the tip, its child will tell.
    if (tip === undefined || number < tip.number || this.chain.has(hash)) return
    const head = number - tip.number > MOST_BRIDGED ? undefined : await this.block(hash)
    const missed =
      head &&
      (await missedBlocks(head, {
        linkOf: (block) => block,
        isKnown: (parent) => this.chain.has(parent),
        byHash: (parent) => this.block(parent),
        most: MOST_BRIDGED,
        lowest: oldest!.number,
      }))
    if (missed === undefined) return this.startAnew(hash)
    const fresh = [...missed, head!]
    if (this.end === undefined) return
    if (this.wantsLogs()) for (const block of fresh) await this.readLogs(block)
    for (const block of this.chain.change(fresh).removed) await this.tell({ kind: 'removed', block })
    for (const block of fresh) await this.tell({ kind: 'added', block })
    if (this.end === undefined) return
    this.chain.extend(fresh)
    this.found.clear()
    this.forgetOldLogs()
  }

  /** More blocks came than are told one by one: who listens has to begin anew, so that nobody takes the gap for silence. */
  private async startAnew(hash: Hash): Promise<void> {
    this.chain.startAt(await this.block(hash))
    this.changes = []
    this.found.clear()
    const told = [...this.listeners]
    this.listeners.clear()
    for (const listener of told) listener.ended?.('more blocks came at once than can be told: subscribe again')
    this.stopIfUnheard()
  }

  /** In turns of the event loop, as there may be thousands of listeners and of logs. */
  private async tell(change: BlockChange): Promise<void> {
    this.changes.push(change)
    if (this.changes.length > MOST_CHANGES) this.changes.shift()
    const turn = new Turn()
    const told: { listener: BlockListener; texts: readonly string[] }[] = []
    for (const listener of this.listeners) {
      listener[change.kind]?.(change.block)
      const texts = listener.texts?.(change) ?? []
      if (texts.length > 0) told.push({ listener, texts })
      await turn.pass()
    }
    const most = told.reduce((longest, { texts }) => Math.max(longest, texts.length), 0)
    // Part by part for all, so that each connection can be read in between.
    for (let at = 0; at < most; at += GIVEN_AT_ONCE) {
      if (at > 0) await turn.end()
      for (const { listener, texts } of told) {
        if (at >= texts.length || !this.listeners.has(listener)) continue
        listener.notify?.(...texts.slice(at, at + GIVEN_AT_ONCE))
        await turn.pass()
      }
    }
  }

  private wantsLogs(): boolean {
    const now = performance.now()
    if ([...this.listeners].some(({ wantsLogs }) => wantsLogs)) this.logsWantedUntil = now + LINGER_MS
    return now < this.logsWantedUntil
  }

  private forgetOldLogs(): void {
    let kept = 0
    for (const block of new Set(this.changes.toReversed().map(({ block }) => block))) {
      kept += block.logs.length
      if (kept <= MOST_LOGS) continue
      block.logs = []
      block.hasLogs = false
    }
  }

  /** Fetches what a listener that resumes from further back needs, beside the queue in which heads are told. */
  private async lookBack({ hash, number }: KnownChange): Promise<void> {
    if (this.changes.some(({ block }) => block.hash === hash)) return
    let next: { hash: Hash; number: bigint } | undefined = this.chain.oldest ?? (await this.followed.newest(within()))
    for (let fetched = 0; next !== undefined && next.number > number && fetched < KEPT; fetched += 1) {
      const block: FollowedBlock | undefined = await this.followed.sealed(next.hash, within())
      next = block && { hash: block.header.parentHash, number: block.header.number - 1n }
    }
  }

  /** The change that a listener knows and all that followed, with their logs where it wants them. */
  private async changesFrom(known: KnownChange, wantsLogs: boolean): Promise<readonly BlockChange[]> {
    const { kind, number, hash } = known
    const find = () => this.changes.findLastIndex(({ kind: its, block }) => its === kind && block.hash === hash)
    if (find() < 0) {
      const newest = await this.followed.newest(within())
      await this.advance(newest.hash, newest.number)
    }
    if (find() < 0 && kind === 'added') await this.recall(number)
    const at = find()
    if (at < 0) throw unknownPosition(known, this.chain.oldest!.number)
    const changes = this.changes.slice(at)
    if (wantsLogs) await this.readLogsOf(changes)
    return changes
  }

  private async readLogsOf(changes: readonly BlockChange[]): Promise<void> {
    let count = 0
    for (const { kind, block } of changes) {
      await this.readLogs(block).catch(() => {
        throw unknownPosition({ kind, ...block }, this.chain.oldest!.number)
      })
      count += block.logs.length
      if (count > MOST_LOGS)
        throw new RpcError(ErrorCode.limitExceeded, `resume: more than ${MOST_LOGS} logs came since: ask eth_getLogs`)
    }
  }

  /** Reads the chain back to a block that came before anybody listened: another replica may have announced it. */
  private async recall(number: bigint): Promise<void> {
    if (this.chain.tip!.number - number >= KEPT) return
    const older: AnnouncedBlock[] = []
    for (let next = this.chain.oldest!; next.number > number; next = older[0]!)
      older.unshift(await this.block(next.parentHash))
    this.chain.prepend(older)
    this.changes.unshift(...older.map((block) => ({ kind: 'added' as const, block })))
  }

  /** @throws Error where the node does not serve it */
  private async block(hash: Hash): Promise<AnnouncedBlock> {
    const known = this.found.get(hash)
    if (known !== undefined) return known
    const block = await this.followed.sealed(hash, within())
    if (block === undefined) throw new Error(`the node does not serve block ${hash}`)
    const announced = announcedBlock(block)
    this.found.set(hash, announced)
    return announced
  }

  private async readLogs(block: AnnouncedBlock): Promise<void> {
    if (block.hasLogs) return
    block.logs = await this.blockLogs.of(block, within())
    block.hasLogs = true
  }
}

function announcedBlock({ rpc, header: { hash, parentHash, number, logsBloom } }: FollowedBlock): AnnouncedBlock {
  const header = { ...rpc }
  for (const name of NOT_IN_HEADER) delete header[name]
  const hasLogs = /^0x0*$/.test(logsBloom)
  return { hash, parentHash, number, logsBloom, header: JSON.stringify(header), logs: [], hasLogs }
}

function within(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) }
}

function unknownPosition({ number, hash }: KnownChange, oldest: bigint): RpcError {
  const why =
    number < oldest ? `older than what is kept, from block ${oldest} on` : 'of a branch that is not known here'
  return new RpcError(
    ErrorCode.resourceNotFound,
    `resume: block ${number} (${hash}) is ${why}: subscribe without it, and ask eth_getLogs for what came since`,
  )
}

import { Turn } from '@upfront/node'
import { ErrorCode, type Hash, RpcError } from '@upfront/protocol'
import type { FollowedBlock } from '../blocks/followed-block.js'
import type { Chain } from '../chain.js'
import { Branch } from '../follow/branch.js'
import { missedBlocks } from '../follow/missed-blocks.js'
import {
  type AnnouncedBlock,
  announcedBlock,
  type BlockChange,
  type BlockListener,
  type KnownChange,
  unknownPosition,
} from './announced-block.js'

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

/** The followed blocks one by one, none left out, and what a reorganisation takes back, for those who listen. */
export class AnnouncedBlocks {
  readonly #listeners = new Set<BlockListener>()
  readonly #chain = new Branch<AnnouncedBlock>(KEPT)
  /** What listeners were told, newest last. */
  #changes: BlockChange[] = []
  #work: Promise<void> = Promise.resolve()
  #end: (() => void) | undefined
  #lingering: NodeJS.Timeout | undefined
  #logsWantedUntil = 0

  /** The newest head, and whether it is still to be told. */
  #newest: { hash: Hash; number: bigint } | undefined
  #retry: NodeJS.Timeout | undefined
  /** Blocks that were fetched to be told, while others before them are missing. */
  readonly #found = new Map<Hash, AnnouncedBlock>()

  readonly #of: Pick<Chain, 'listen' | 'sealed' | 'resolver' | 'logs'>
  readonly #untold: (reason: string) => void

  /** @param untold called where a block can't be told yet, with the reason: it is tried again */
  constructor(chain: Pick<Chain, 'listen' | 'sealed' | 'resolver' | 'logs'>, untold: (reason: string) => void) {
    this.#of = chain
    this.#untold = untold
  }

  /**
   * Listens from the node's head on, or from after a change that the listener knows.
   * @returns what ends it
   * @throws RpcError -32001 where that change is too old or on a branch that is not known; as `BlockResolver.head`
   */
  async listen(listener: BlockListener, known?: KnownChange): Promise<() => void> {
    clearTimeout(this.#lingering)
    if (this.#end === undefined) this.#start()
    const leave = () => {
      this.#listeners.delete(listener)
      this.#stopIfUnheard()
    }
    try {
      if (known !== undefined) await this.#lookBack(known)
      await this.#inTurn(async () => {
        if (this.#chain.tip === undefined) {
          const block = await this.#block((await this.#of.resolver.head(within())).hash)
          this.#chain.startAt(block)
          this.#changes = [{ kind: 'added', block }]
        }
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
    this.#end = this.#of.listen(({ header: { hash, number } }) => this.#announce(hash, number))
  }

  #stopIfUnheard(): void {
    if (this.#listeners.size > 0) return
    clearTimeout(this.#lingering)
    this.#lingering = setTimeout(() => {
      if (this.#listeners.size === 0) this.#stop()
    }, LINGER_MS).unref()
  }

  #stop(): void {
    this.#end?.()
    this.#end = undefined
    clearTimeout(this.#retry)
    this.#chain.startAt()
    this.#changes = []
    this.#found.clear()
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => undefined)
    return done
  }

  #announce(hash: Hash, number: bigint): void {
    clearTimeout(this.#retry)
    this.#newest = { hash, number }
    this.#inTurn(() => this.#advance(hash, number)).catch((error) => {
      this.#untold(String(error))
      if (this.#end === undefined || this.#newest?.hash !== hash) return
      this.#retry = setTimeout(() => this.#announce(hash, number), RETRY_MS).unref()
    })
  }

  /** Announces all blocks up to this one. */
  async #advance(hash: Hash, number: bigint): Promise<void> {
    const { tip, oldest } = this.#chain
    // A lower head only lags: should it replace the tip, its child will tell.
    if (tip === undefined || number < tip.number || this.#chain.has(hash)) return
    const head = number - tip.number > MOST_BRIDGED ? undefined : await this.#block(hash)
    const missed =
      head &&
      (await missedBlocks(head, {
        linkOf: (block) => block,
        isKnown: (parent) => this.#chain.has(parent),
        byHash: (parent) => this.#block(parent),
        most: MOST_BRIDGED,
        lowest: oldest!.number,
      }))
    if (missed === undefined) return this.#startAnew(hash)
    const fresh = [...missed, head!]
    if (this.#end === undefined) return
    if (this.#wantsLogs()) for (const block of fresh) await this.#readLogs(block)
    for (const block of this.#chain.change(fresh).removed) await this.#tell({ kind: 'removed', block })
    for (const block of fresh) await this.#tell({ kind: 'added', block })
    if (this.#end === undefined) return
    this.#chain.extend(fresh)
    this.#found.clear()
    this.#forgetOldLogs()
  }

  /** More blocks came than are told one by one: who listens has to begin anew, so that nobody takes the gap for silence. */
  async #startAnew(hash: Hash): Promise<void> {
    this.#chain.startAt(await this.#block(hash))
    this.#changes = []
    this.#found.clear()
    const told = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of told) listener.ended?.('more blocks came at once than can be told: subscribe again')
    this.#stopIfUnheard()
  }

  /** In turns of the event loop, as there may be thousands of listeners and of logs. */
  async #tell(change: BlockChange): Promise<void> {
    this.#changes.push(change)
    if (this.#changes.length > MOST_CHANGES) this.#changes.shift()
    const turn = new Turn()
    const told: { listener: BlockListener; texts: readonly string[] }[] = []
    for (const listener of this.#listeners) {
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
        if (at >= texts.length || !this.#listeners.has(listener)) continue
        listener.notify?.(...texts.slice(at, at + GIVEN_AT_ONCE))
        await turn.pass()
      }
    }
  }

  #wantsLogs(): boolean {
    const now = performance.now()
    if ([...this.#listeners].some(({ wantsLogs }) => wantsLogs)) this.#logsWantedUntil = now + LINGER_MS
    return now < this.#logsWantedUntil
  }

  #forgetOldLogs(): void {
    let kept = 0
    for (const block of new Set(this.#changes.toReversed().map(({ block }) => block))) {
      kept += block.logs.length
      if (kept <= MOST_LOGS) continue
      block.logs = []
      block.hasLogs = false
    }
  }

  /** Fetches what a listener that resumes from further back needs, beside the queue in which heads are told. */
  async #lookBack({ hash, number }: KnownChange): Promise<void> {
    if (this.#changes.some(({ block }) => block.hash === hash)) return
    let next: { hash: Hash; number: bigint } | undefined =
      this.#chain.oldest ?? (await this.#of.resolver.head(within()))
    for (let fetched = 0; next !== undefined && next.number > number && fetched < KEPT; fetched += 1) {
      const block: FollowedBlock | undefined = await this.#of.sealed(next.hash, within())
      next = block && { hash: block.header.parentHash, number: block.header.number - 1n }
    }
  }

  /** The change that a listener knows and all that followed, with their logs where it wants them. */
  async #changesFrom(known: KnownChange, wantsLogs: boolean): Promise<readonly BlockChange[]> {
    const { kind, number, hash } = known
    const find = () => this.#changes.findLastIndex(({ kind: its, block }) => its === kind && block.hash === hash)
    if (find() < 0) {
      const newest = await this.#of.resolver.head(within())
      await this.#advance(newest.hash, newest.number)
    }
    if (find() < 0 && kind === 'added') await this.#recall(number)
    const at = find()
    if (at < 0) throw unknownPosition(known, this.#chain.oldest!.number)
    const changes = this.#changes.slice(at)
    if (wantsLogs) await this.#readLogsOf(changes)
    return changes
  }

  async #readLogsOf(changes: readonly BlockChange[]): Promise<void> {
    let count = 0
    for (const { kind, block } of changes) {
      await this.#readLogs(block).catch(() => {
        throw unknownPosition({ kind, ...block }, this.#chain.oldest!.number)
      })
      count += block.logs.length
      if (count > MOST_LOGS)
        throw new RpcError(ErrorCode.limitExceeded, `resume: more than ${MOST_LOGS} logs came since: ask eth_getLogs`)
    }
  }

  /** Reads the chain back to a block that came before anybody listened: another replica may have announced it. */
  async #recall(number: bigint): Promise<void> {
    if (this.#chain.tip!.number - number >= KEPT) return
    const older: AnnouncedBlock[] = []
    for (let next = this.#chain.oldest!; next.number > number; next = older[0]!)
      older.unshift(await this.#block(next.parentHash))
    this.#chain.prepend(older)
    this.#changes.unshift(...older.map((block) => ({ kind: 'added' as const, block })))
  }

  /** @throws Error where the node does not serve it */
  async #block(hash: Hash): Promise<AnnouncedBlock> {
    const known = this.#found.get(hash)
    if (known !== undefined) return known
    const block = await this.#of.sealed(hash, within())
    if (block === undefined) throw new Error(`the node does not serve block ${hash}`)
    const announced = announcedBlock(block)
    this.#found.set(hash, announced)
    return announced
  }

  async #readLogs(block: AnnouncedBlock): Promise<void> {
    if (block.hasLogs) return
    block.logs = await this.#of.logs.of(block, within())
    block.hasLogs = true
  }
}

function within(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) }
}

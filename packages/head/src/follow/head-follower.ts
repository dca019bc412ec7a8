import { type CallLimits, Canceller, type CancelSignal, pause } from '@upfront/node'
import { type BlockHeader, blockHeaderToRpc, type Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { headerFromRpc } from '../block-from-rpc.js'
import type { FollowedHead } from '../followed-head.js'
import { NodeSubscription } from '../node-subscription.js'
import type { PinnedBlock } from '../pinned-block.js'
import type { FollowedBlock, HeadFollowerOptions, HeadStatus } from './head-follower-options.js'
import { MOST_MISSED, missedBlocks } from './missed-blocks.js'
import { Pace } from './pace.js'
import type { RelayMember } from './relay.js'

/** Requests stay on the head before for so long while a new one is prepared. */
const PREPARE_MS = 50
const IDLE_MS = 60_000
/** A block that was announced may be served a little later: how long it is asked for. */
const SERVED_WITHIN_MS = 2_000
const ASK_TIMEOUT_MS = 5_000
/** How often the node is asked although subscriptions tell: they may lag behind it. */
const COMPARE_MS = 15_000
/** A subscription that announces a head so much later than the node served it is not trusted with that head. */
const MOST_LAG_MS = 250
/** Headers kept of the blocks that were followed, so that a reorganisation finds its parent. */
const KNOWN_BLOCKS = 64
/** Who is named as the source of a head that was asked for. */
const ASKED = ''
/** The same where another replica was told of it. */
const REPLICA = 'replica'

/** The head that requests stand on. */
interface Standing {
  block: PinnedBlock & { seenAt: number }
  /** The URL that announced it first. */
  from: string
  /** Whether a subscription that keeps up announced it, or would have: the next one will be announced. */
  told: boolean
  /** When a node last confirmed that it is the head. */
  confirmedAt: number
}

interface Announced {
  header: BlockHeader
  from: string
  at: number
}

/**
 * Follows the chain's head. Nodes announce heads (`newHeads`) or are asked; each new head is fetched by hash, so that a node
 * serves it before a request stands on it, prepared, and then is what `current` says.
 */
export class HeadFollower<B extends FollowedBlock> implements FollowedHead {
  readonly #options: HeadFollowerOptions<B>
  readonly #pace = new Pace()
  readonly #known = new LRUCache<Hash, BlockHeader>({ max: KNOWN_BLOCKS })
  #following: Canceller | undefined
  #subscriptions: NodeSubscription[] = []
  #replica: RelayMember | undefined
  #standing: Standing | undefined
  /** The newest head that was taken up. */
  #taken: BlockHeader | undefined
  /** The newest announcement that is not taken up yet. */
  #announced: Announced | undefined
  #taking = false
  #requestedAt = 0
  /** When a subscription began whose first head is still to be asked for: it announces only those that follow. */
  #subscribedAt = Number.POSITIVE_INFINITY
  #comparedAt = 0
  #timer: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: HeadFollowerOptions<B>) {
    this.#options = options
    if (options.mode === 'always') this.#start()
  }

  /** The head to stand on without asking; undefined where none is followed or a newer one may be there unannounced. */
  current(): PinnedBlock | undefined {
    const { mode } = this.#options
    if (mode === 'off' || this.#closed) return undefined
    this.#requestedAt = performance.now()
    if (this.#following === undefined) this.#start()
    return this.#isTrusted(this.#requestedAt) ? this.#standing!.block : undefined
  }

  /**
   * Tells of a head that a node answered a request with. Requests stand on it from now on, prepared or not: nobody may be told
   * of an older one afterwards.
   * @param askedAt `performance.now()` when the node was asked
   */
  noteAsked(header: BlockHeader, askedAt: number): void {
    if (this.#following === undefined) return
    const isCovered = askedAt >= this.#subscribedAt
    if (isCovered) this.#subscribedAt = Number.POSITIVE_INFINITY
    const standing = this.#standing
    if (header.hash === standing?.block.key) {
      standing.confirmedAt = Math.max(standing.confirmedAt, askedAt)
      standing.told ||= isCovered
      return
    }
    if (standing !== undefined && header.number <= standing.block.header.number && standing.from !== ASKED) return
    const now = performance.now()
    this.#stand({ header, from: ASKED, at: now }, isCovered)
    this.#announce({ header, from: ASKED, at: now })
  }

  get newestNumber(): bigint {
    return this.#standing?.block.header.number ?? 0n
  }

  status(): HeadStatus {
    const now = performance.now()
    const head = this.#standing?.block
    return {
      mode: this.#options.mode,
      following: this.#following !== undefined,
      subscribed: this.#subscriptions.filter((each) => each.isSubscribed).length,
      urls: this.#options.urls.length,
      ...(head && { head: head.header.number, ageMs: now - head.seenAt }),
      trusted: this.#isTrusted(now),
      intervalMs: this.#pace.intervalMs,
    }
  }

  close(): void {
    this.#closed = true
    this.#stop()
  }

  /** What a subscription told is trusted until the next head is late; what was asked for only until the next could be there. */
  #isTrusted(now: number): boolean {
    if (this.#standing === undefined) return false
    const { told, block, confirmedAt } = this.#standing
    if (!told || !this.#isSubscribed) return now < (this.#pace.trustedUntil ?? Number.NEGATIVE_INFINITY)
    if (now - block.seenAt <= this.#pace.overdueMs) return true
    return now - confirmedAt <= Math.min(MOST_LAG_MS, this.#pace.intervalMs / 4)
  }

  get #isSubscribed(): boolean {
    return this.#replica?.follows || this.#subscriptions.some((each) => each.isSubscribed)
  }

  #start(): void {
    const following = new Canceller()
    this.#following = following
    this.#requestedAt = performance.now()
    this.#options.observe({ kind: 'following' })
    this.#replica = this.#options.relay?.join({
      onMessage: (message) => this.#onAnnouncement(message, REPLICA),
      onChange: () => this.#changeSource(),
    })
    this.#changeSource()
    if (this.#options.mode === 'auto') this.#restWhenIdle(this.#options.idleMs ?? IDLE_MS)
  }

  /** Listens to the nodes, or leaves that to another replica. */
  #changeSource(): void {
    if (this.#replica?.leads === false) this.#unsubscribe()
    else if (this.#subscriptions.length === 0)
      this.#subscriptions = this.#options.urls.map((url) => this.#subscribe(url))
    if (this.#replica?.follows) this.#onSubscribed()
    else this.#schedule(0)
  }

  #subscribe(url: string): NodeSubscription {
    return new NodeSubscription({
      url,
      params: ['newHeads'],
      silenceMs: () => Math.max(10_000, 4 * this.#pace.overdueMs),
      onResult: (header) => this.#onAnnouncement(header, url),
      onSubscribed: () => this.#onSubscribed(),
      onLost: (reason) => {
        this.#options.observe({ kind: 'lost', host: new URL(url).host, reason })
        this.#schedule(0)
      },
    })
  }

  #unsubscribe(): void {
    for (const subscription of this.#subscriptions) subscription.close()
    this.#subscriptions = []
  }

  #onSubscribed(): void {
    this.#subscribedAt = performance.now()
    this.#comparedAt = Number.NEGATIVE_INFINITY
    this.#schedule(0)
  }

  #stop(): void {
    this.#following?.cancel(new Error('the head is no longer followed'))
    this.#following = undefined
    this.#unsubscribe()
    this.#replica?.leave()
    this.#replica = undefined
    clearTimeout(this.#timer)
    clearTimeout(this.#idle)
    this.#standing = undefined
    this.#announced = undefined
  }

  #restWhenIdle(idleMs: number): void {
    const left = this.#requestedAt + idleMs - performance.now()
    this.#idle = setTimeout(
      () => {
        if (performance.now() - this.#requestedAt < idleMs) return this.#restWhenIdle(idleMs)
        this.#stop()
        this.#options.observe({ kind: 'resting' })
      },
      Math.max(left, 0),
    ).unref()
  }

  #schedule(inMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#ask(), inMs).unref()
  }

  /** Asks for the head at the chain's pace, while no subscription tells of it or the next head is late. */
  async #ask(): Promise<void> {
    const signal = this.#following?.signal
    if (signal === undefined) return
    const askedAt = performance.now()
    const compares = askedAt - this.#comparedAt > COMPARE_MS
    if (compares || !this.#isTrusted(askedAt)) {
      this.#comparedAt = askedAt
      try {
        this.noteAsked(await this.#options.latest(limitsOf(signal)), askedAt)
      } catch (error) {
        if (!signal.aborted) this.#options.observe({ kind: 'unknown', reason: messageOf(error) })
      }
    }
    if (signal.aborted) return
    const now = performance.now()
    const told = this.#standing?.told && this.#isSubscribed
    this.#schedule(told ? this.#pace.overdueMs : this.#pace.nextAsk(now) - now)
  }

  #onAnnouncement(header: unknown, from: string): void {
    try {
      const told = Buffer.isBuffer(header) ? JSON.parse(header.toString()) : header
      this.#announce({ header: headerFromRpc(told), from, at: performance.now() })
    } catch (error) {
      this.#options.observe({ kind: 'unknown', reason: messageOf(error) })
    }
  }

  /** Takes up a head that is higher, or that replaces the head of the same node: a lower one of another node only lags. */
  #announce(announced: Announced): void {
    const { header, from, at } = announced
    const standing = this.#standing
    if (from !== ASKED && header.hash === standing?.block.key) {
      standing.confirmedAt = at
      if (at - standing.block.seenAt <= MOST_LAG_MS) standing.told = true
      return
    }
    if (header.hash === this.#announced?.header.hash) return
    const newest = this.#announced ?? (standing && { header: standing.block.header, from: standing.from })
    if (newest !== undefined && header.number <= newest.header.number && from !== newest.from) return
    this.#announced = announced
    if (from !== REPLICA) this.#replica?.publish(JSON.stringify(blockHeaderToRpc(header)))
    if (!this.#taking) void this.#takeUp()
  }

  async #takeUp(): Promise<void> {
    this.#taking = true
    try {
      for (let next = this.#announced; next !== undefined; next = this.#announced) {
        await this.#moveTo(next)
        if (this.#announced === next) this.#announced = undefined
      }
    } catch (error) {
      this.#announced = undefined
      if (this.#following !== undefined) this.#options.observe({ kind: 'failed', reason: messageOf(error) })
    } finally {
      this.#taking = false
    }
  }

  async #moveTo(announced: Announced): Promise<void> {
    const { hash } = announced.header
    const signal = this.#following?.signal
    if (signal === undefined) return
    const block = await this.#served(hash, signal)
    if (signal.aborted) return
    if (block === undefined) {
      this.#options.observe({ kind: 'unserved', hash })
      return
    }
    const { header } = block
    const before = this.#taken
    const missed = await this.#missed(block, signal)
    await this.#prepared([...(missed ?? []), block])
    if (signal.aborted) return
    this.#taken = header
    this.#adopt(announced)
    const oldest = missed?.[0]?.header ?? header
    const reorganised =
      before !== undefined &&
      oldest.parentHash !== before.hash &&
      (missed !== undefined || header.number <= before.number)
    this.#options.observe({ kind: 'head', header, reorganised, missed: missed?.length ?? 0 })
  }

  /** A request may have been answered with this head, or with a newer one, while this one was taken up. */
  #adopt(announced: Announced): void {
    const { header, from } = announced
    const standing = this.#standing
    if (standing?.block.key === header.hash) standing.told ||= from !== ASKED
    else if (standing === undefined || header.number > standing.block.header.number || from === standing.from)
      this.#stand(announced, from !== ASKED)
  }

  #stand({ header, from, at }: Announced, told: boolean): void {
    this.#pace.note(header, at, from === ASKED ? (this.#standing?.confirmedAt ?? at) : at)
    const block = { header, key: header.hash, seenAt: at }
    this.#standing = { block, from, told, confirmedAt: at }
  }

  async #missed(block: B, signal: CancelSignal): Promise<B[] | undefined> {
    const distance = this.#taken === undefined ? undefined : block.header.number - this.#taken.number
    // After a pause the last known block is out of reach: nothing is fetched in vain.
    if (distance === undefined || distance > MOST_MISSED + 1) return undefined
    return missedBlocks(
      block,
      (hash) => this.#known.has(hash),
      (hash) => this.#options.byHash(hash, limitsOf(signal)).catch(() => undefined),
    )
  }

  async #served(hash: Hash, signal: CancelSignal): Promise<B | undefined> {
    const until = performance.now() + SERVED_WITHIN_MS
    for (let wait = 5; !signal.aborted; wait = Math.min(2 * wait, 200)) {
      const block = await this.#options.byHash(hash, limitsOf(signal)).catch(() => undefined)
      if (block !== undefined) return block
      if (performance.now() > until || this.#announced?.header.hash !== hash) return undefined
      await pause(wait, signal).catch(() => undefined)
    }
    return undefined
  }

  /** @param blocks oldest first, each the child of the one before; resolves once all are prepared, or after a bound */
  async #prepared(blocks: readonly B[]): Promise<void> {
    const { prepare } = this.#options
    let done: Promise<void> | undefined
    for (const block of blocks) {
      const { header } = block
      done = prepare?.(block, this.#known.get(header.parentHash)).catch((error) => {
        this.#options.observe({ kind: 'failed', reason: messageOf(error) })
      })
      this.#known.set(header.hash, header)
    }
    if (done === undefined) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PREPARE_MS)
    })
    await Promise.race([done, late])
    clearTimeout(timer)
  }
}

function limitsOf(signal: CancelSignal): CallLimits {
  return { signal, deadline: performance.now() + ASK_TIMEOUT_MS }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

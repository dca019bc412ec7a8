import { type CallLimits, Canceller, isSlowerThan, messageOf } from '@upfront/node'
import { type BlockHeader, blockHeaderToRpc, type Hash } from '@upfront/protocol'
import { headerFromRpc, type PinnedBlock } from '@upfront/simulation'
import type { FollowedHead } from '../head/node-head.js'
import { NodeSubscription } from '../socket/node-subscription.js'
import type { HeadFollowerOptions, HeadStatus } from './head-follower-options.js'
import { type AnnouncedHead, askLimits, HeadIntake } from './head-intake.js'
import { KeptBlocks, type WithHeader } from './kept-blocks.js'
import { NextHead } from './next-head.js'
import { Pace } from './pace.js'
import type { RelayMember } from './relay.js'

const IDLE_MS = 60_000
/** Least time between two checks whether the head still has to be followed. */
const MIN_REST_MS = 250
/** How often the node is asked in spite of subscriptions, which may lag behind it. */
const COMPARE_MS = 15_000
/** A subscription that announces a head this long after the node served it is not trusted with that head. */
const MAX_LAG_MS = 250
/** `from` of a head that the node was asked for. */
const POLLED = ''
/** `from` of a head that another replica announced. */
const REPLICA = 'replica'

/** The head that requests use. */
interface CurrentHead {
  block: PinnedBlock & { seenAt: number }
  /** URL that announced it first, or `POLLED` or `REPLICA`. */
  from: string
  /** Whether a timely subscription announced it, or covers it. Then the next head will be announced too. */
  isAnnounced: boolean
  /** When a node last confirmed it as the head. */
  confirmedAt: number
}

/**
 * Follows the head of the chain. Nodes announce heads (`newHeads`) or are polled. Each new head is fetched by hash, so that a node is known
 * to serve it, and prepared. Then {@link current} returns it.
 */
export class HeadFollower<B extends WithHeader> implements FollowedHead {
  readonly #options: HeadFollowerOptions<B>
  /** The newest blocks of the chain, and others that were fetched. */
  readonly kept: KeptBlocks<B>
  readonly #underWay = new Map<Hash, Promise<B | undefined>>()
  readonly #pace = new Pace()
  readonly #next = new NextHead(this.#pace)
  /** The request for the block that is due. */
  #nextBlock: Promise<B | undefined> | undefined
  #requestedNumber = 0n
  #nextTimer: NodeJS.Timeout | undefined
  readonly #intake: HeadIntake<B>
  #following: Canceller | undefined
  #subscriptions: NodeSubscription[] = []
  #replica: RelayMember | undefined
  #head: CurrentHead | undefined
  #requestedAt = 0
  /** When a subscription began whose first head still has to be asked for: it announces only later heads. */
  #subscribedAt = Number.POSITIVE_INFINITY
  #comparedAt = 0
  #timer: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  #closed = false
  /** Number of callers that want the head followed even without requests. */
  #keepFollowingCount = 0
  #isStreamed = false
  /** The highest head that a Flashblocks stream built on. */
  #streamedHead = 0n

  constructor(options: HeadFollowerOptions<B>) {
    this.#options = options
    this.kept = new KeptBlocks(options.weigh)
    this.#intake = new HeadIntake(options, this.kept, {
      block: (hash, limits) => this.block(hash, limits),
      signal: () => this.#following?.signal,
      reportsEveryBlock: () => this.#keepFollowingCount > 0,
      adopt: (head, block) => this.#adopt(head, block),
    })
    if (options.mode === 'always') this.#start()
  }

  /** The head to use without asking the node; undefined if no head is followed or a newer one may exist unannounced. */
  current(): PinnedBlock | undefined {
    const { mode } = this.#options
    if (mode === 'off' || this.#closed) return undefined
    this.#requestedAt = performance.now()
    if (this.#following === undefined) this.#start()
    return this.#isTrusted(this.#requestedAt) ? this.#head!.block : undefined
  }

  /**
   * Follows the head from now on, whatever the mode and even without requests.
   * @returns a function that ends this
   */
  keepFollowing(): () => void {
    this.#keepFollowingCount += 1
    if (this.#following === undefined && !this.#closed) this.#start()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#keepFollowingCount -= 1
      this.#requestedAt = performance.now()
      if (this.#keepFollowingCount === 0 && this.#options.mode === 'off') this.#stop()
    }
  }

  /**
   * Reports that a stream of blocks under construction builds on this head. The node is asked for it at once. While `isStreamed`, it is not
   * polled at the chain's pace. This does not make requests trust a head for longer.
   */
  noteStreamedHead(number: bigint): void {
    if (number <= this.#streamedHead || this.#following === undefined) return
    this.#streamedHead = number
    if (!this.#isSubscribed && number > this.newestNumber) this.#schedule(0)
  }

  /** Whether a stream that reports heads is connected: see {@link noteStreamedHead}. */
  set isStreamed(isStreamed: boolean) {
    this.#isStreamed = isStreamed
    this.#streamedHead = 0n
    if (!isStreamed && this.#following !== undefined) this.#schedule(0)
  }

  /** A block of the chain by number, if the head needs no asking, or any fetched block by hash. */
  header(which: bigint | Hash): BlockHeader | undefined {
    if (typeof which === 'string') return this.kept.get(which)?.header
    const head = this.current()?.header
    if (head === undefined || which > head.number) return undefined
    if (which === head.number) return head
    return this.kept.isLinked(head) ? this.kept.at(which)?.header : undefined
  }

  /**
   * The block with this hash, kept or fetched once for all callers.
   * @returns undefined if the node does not serve it
   * @throws as `HeadFollowerOptions.byHash`
   */
  async block(hash: Hash, limits: CallLimits): Promise<B | undefined> {
    const kept = this.kept.get(hash)
    if (kept !== undefined) return kept
    const coming = await this.#nextBlock
    if (coming?.header.hash === hash) return coming
    let asked = this.#underWay.get(hash)
    if (asked === undefined) {
      asked = this.#fetch(hash, limits).finally(() => this.#underWay.delete(hash))
      this.#underWay.set(hash, asked)
    }
    return asked
  }

  /** A lost answer would hold up the head until its timeout: a block that is overdue is requested once more. */
  async #fetch(hash: Hash, limits: CallLimits): Promise<B | undefined> {
    const askedAt = performance.now()
    const { timeoutMs } = this.#next
    const ask = () => this.#options.byHash(hash, limits)
    const first = ask()
    const isOverdue = timeoutMs !== undefined && (await isSlowerThan(first, timeoutMs))
    const block = await (isOverdue ? Promise.any([first, ask()]).catch(() => first) : first)
    if (block !== undefined) {
      this.kept.add(block)
      this.#next.noteRoundTrip(performance.now() - askedAt)
    }
    return block
  }

  /**
   * Reports a head that a node returned to a request. Requests use it from now on, prepared or not: clients must not see an older one.
   * @param askedAt `performance.now()` when the node was asked
   */
  noteNodeHead(header: BlockHeader, askedAt: number): void {
    if (this.#following === undefined) {
      this.#pace.note(header, performance.now())
      return
    }
    const isCovered = askedAt >= this.#subscribedAt
    if (isCovered) this.#subscribedAt = Number.POSITIVE_INFINITY
    const current = this.#head
    if (header.hash === current?.block.key) {
      current.confirmedAt = Math.max(current.confirmedAt, askedAt)
      current.isAnnounced ||= isCovered
      return
    }
    if (current !== undefined && header.number <= current.block.header.number && current.from !== POLLED) return
    const now = performance.now()
    this.#setHead(header, POLLED, now, isCovered)
    this.#announce({ header, from: POLLED, at: now })
  }

  get intervalMs(): number | undefined {
    return this.#pace.learntMs
  }

  get newestNumber(): bigint {
    return this.#head?.block.header.number ?? 0n
  }

  status(): HeadStatus {
    const now = performance.now()
    const head = this.#head?.block
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

  /** An announced head is trusted until the next one is late; a head that was asked for, only until the next one could exist. */
  #isTrusted(now: number): boolean {
    if (this.#head === undefined) return false
    const { isAnnounced, block, confirmedAt } = this.#head
    if (!isAnnounced || !this.#isSubscribed) return now < (this.#pace.trustedUntil ?? Number.NEGATIVE_INFINITY)
    if (now - block.seenAt <= this.#pace.overdueMs) return true
    return now - confirmedAt <= Math.min(MAX_LAG_MS, this.#pace.intervalMs / 4)
  }

  /** Whether a connected stream reports no newer head and would report the next. */
  #isCoveredByStream(now: number): boolean {
    if (!this.#isStreamed || this.#head === undefined || this.#streamedHead > this.newestNumber) return false
    return now - this.#head.block.seenAt <= this.#pace.overdueMs
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

  /** Subscribes to the nodes, or leaves that to another replica. */
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
      chainId: this.#options.chainId,
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
    clearTimeout(this.#nextTimer)
    clearTimeout(this.#idle)
    this.#head = undefined
    this.#intake.clear()
  }

  #restWhenIdle(idleMs: number): void {
    const left = this.#requestedAt + idleMs - performance.now()
    this.#idle = setTimeout(
      () => {
        if (this.#keepFollowingCount > 0 || performance.now() - this.#requestedAt < idleMs)
          return this.#restWhenIdle(idleMs)
        this.#stop()
        this.#options.observe({ kind: 'resting' })
      },
      Math.max(left, MIN_REST_MS),
    ).unref()
  }

  #schedule(inMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#ask(), inMs).unref()
  }

  /** Polls the head at the chain's pace while no subscription reports it or the next head is late. */
  async #ask(): Promise<void> {
    const signal = this.#following?.signal
    if (signal === undefined) return
    const askedAt = performance.now()
    const compares = askedAt - this.#comparedAt > COMPARE_MS
    if (compares || !(this.#isTrusted(askedAt) || this.#isCoveredByStream(askedAt))) {
      this.#comparedAt = askedAt
      try {
        await this.#options.askHead(askLimits(signal))
      } catch (error) {
        if (!signal.aborted) this.#options.observe({ kind: 'unknown', reason: messageOf(error) })
      }
    }
    if (signal.aborted) return
    const now = performance.now()
    const isReported = (this.#head?.isAnnounced && this.#isSubscribed) || this.#isCoveredByStream(now)
    this.#schedule(isReported ? this.#pace.overdueMs : this.#pace.nextPollAt(now) - now)
  }

  /** Requests the next block once, when it is due, so that the request travels while the block is made. */
  #awaitNext(): void {
    clearTimeout(this.#nextTimer)
    const { byNumber } = this.#options
    const number = this.newestNumber + 1n
    if (byNumber === undefined || !this.#head?.isAnnounced || !this.#isSubscribed || number === this.#requestedNumber)
      return
    const askAt = this.#next.askAt(number)
    if (askAt === undefined) return
    this.#nextTimer = setTimeout(() => void this.#askNext(number, byNumber), askAt - performance.now()).unref()
  }

  async #askNext(
    number: bigint,
    byNumber: (number: bigint, limits: CallLimits) => Promise<B | undefined>,
  ): Promise<void> {
    const signal = this.#following?.signal
    if (signal === undefined || this.newestNumber !== number - 1n || this.#intake.announced !== undefined) return
    this.#requestedNumber = number
    this.#next.noteRequested()
    const deadline = performance.now() + this.#next.timeoutMs!
    const coming = byNumber(number, { signal, deadline }).catch(() => undefined)
    this.#nextBlock = coming
    const block = await coming
    this.#nextBlock = undefined
    if (signal.aborted) return
    this.#next.noteAnswer(number, block !== undefined)
    this.#options.observe({ kind: block === undefined ? 'inVain' : 'early', number })
    if (block === undefined) return
    // The node is known to be no further than what is announced.
    this.#comparedAt = performance.now()
    this.kept.add(block)
    // Treated as announced by the source of the previous head, whose announcement is due about now.
    this.#announce({ header: block.header, from: this.#head?.from ?? POLLED, at: performance.now() })
  }

  #onAnnouncement(header: unknown, from: string): void {
    try {
      const told = Buffer.isBuffer(header) ? JSON.parse(header.toString()) : header
      const announced = { header: headerFromRpc(told), from, at: performance.now() }
      this.#next.noteAnnounced(announced.header.number, announced.at)
      this.#announce(announced)
    } catch (error) {
      this.#options.observe({ kind: 'unknown', reason: messageOf(error) })
    }
  }

  /** Accepts a head that is higher, or that replaces the head of the same node. A lower head of another node only lags. */
  #announce(announced: AnnouncedHead): void {
    const { header, from, at } = announced
    const current = this.#head
    if (from !== POLLED && header.hash === current?.block.key) {
      current.confirmedAt = at
      if (at - current.block.seenAt <= MAX_LAG_MS) current.isAnnounced = true
      this.#awaitNext()
      return
    }
    if (header.hash === this.#intake.announced?.header.hash) return
    const newest = this.#intake.announced ?? (current && { header: current.block.header, from: current.from })
    if (newest !== undefined && header.number <= newest.header.number && from !== newest.from) return
    if (from !== REPLICA) this.#replica?.publish(JSON.stringify(blockHeaderToRpc(header)))
    this.#intake.announce(announced)
  }

  /** A request may have received this head or a newer one while this one was being fetched. */
  #adopt({ from, at }: AnnouncedHead, { header }: B): void {
    const current = this.#head
    if (current?.block.key === header.hash) current.isAnnounced ||= from !== POLLED
    else if (current === undefined || header.number > current.block.header.number || from === current.from)
      this.#setHead(header, from, at, from !== POLLED)
  }

  #setHead(header: BlockHeader, from: string, at: number, isAnnounced: boolean): void {
    this.#pace.note(header, at, from === POLLED ? (this.#head?.confirmedAt ?? at) : at)
    const block = { header, key: header.hash, seenAt: at }
    this.#head = { block, from, isAnnounced, confirmedAt: at }
    this.#awaitNext()
  }
}

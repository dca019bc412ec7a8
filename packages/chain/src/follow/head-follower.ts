import { type CallLimits, Canceller, messageOf } from '@upfront/node'
import { type BlockHeader, blockHeaderToRpc, type Hash } from '@upfront/protocol'
import { headerFromRpc, type PinnedBlock } from '@upfront/simulation'
import type { FollowedHead } from '../head/asked-head.js'
import { NodeSubscription } from '../socket/node-subscription.js'
import type { HeadFollowerOptions, HeadStatus } from './head-follower-options.js'
import { type AnnouncedHead, askLimits, HeadIntake } from './head-intake.js'
import { KeptBlocks, type WithHeader } from './kept-blocks.js'
import { NextHead } from './next-head.js'
import { Pace } from './pace.js'
import type { RelayMember } from './relay.js'

const IDLE_MS = 60_000
/** Between two looks whether anybody wants the head followed. */
const LEAST_REST_MS = 250
/** How often the node is asked although subscriptions tell: they may lag behind it. */
const COMPARE_MS = 15_000
/** A subscription that announces a head so much later than the node served it is not trusted with that head. */
const MOST_LAG_MS = 250
/** Who is named as the source of a head that was asked for. */
const ASKED = ''
/** The same where another replica was told of it. */
const REPLICA = 'replica'

/** The head that requests stand on. */
interface CurrentHead {
  block: PinnedBlock & { seenAt: number }
  /** The URL that announced it first. */
  from: string
  /** Whether a subscription that keeps up announced it, or would have: the next one will be announced. */
  told: boolean
  /** When a node last confirmed that it is the head. */
  confirmedAt: number
}

/**
 * Follows the chain's head. Nodes announce heads (`newHeads`) or are asked; each new head is fetched by hash, so that a node
 * serves it before a request stands on it, prepared, and then is what `current` says.
 */
export class HeadFollower<B extends WithHeader> implements FollowedHead {
  readonly #options: HeadFollowerOptions<B>
  /** The newest blocks of the chain, and others that were fetched. */
  readonly kept: KeptBlocks<B>
  readonly #underWay = new Map<Hash, Promise<B | undefined>>()
  readonly #pace = new Pace()
  readonly #next = new NextHead(this.#pace)
  /** The block that was asked for as it is due. */
  #coming: Promise<B | undefined> | undefined
  #nextAsked = 0n
  #nextTimer: NodeJS.Timeout | undefined
  readonly #intake: HeadIntake<B>
  #following: Canceller | undefined
  #subscriptions: NodeSubscription[] = []
  #replica: RelayMember | undefined
  #head: CurrentHead | undefined
  #requestedAt = 0
  /** When a subscription began whose first head is still to be asked for: it announces only those that follow. */
  #subscribedAt = Number.POSITIVE_INFINITY
  #comparedAt = 0
  #timer: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  #closed = false
  /** Who wants the head followed whether requests come or not. */
  #keepers = 0
  #isStreamed = false
  /** The highest head that a stream stood on. */
  #heard = 0n

  constructor(options: HeadFollowerOptions<B>) {
    this.#options = options
    this.kept = new KeptBlocks(options.weigh)
    this.#intake = new HeadIntake(options, this.kept, {
      block: (hash, limits) => this.block(hash, limits),
      signal: () => this.#following?.signal,
      isTold: () => this.#keepers > 0,
      adopt: (head, block) => this.#adopt(head, block),
    })
    if (options.mode === 'always') this.#start()
  }

  /** The head to stand on without asking; undefined where none is followed or a newer one may be there unannounced. */
  current(): PinnedBlock | undefined {
    const { mode } = this.#options
    if (mode === 'off' || this.#closed) return undefined
    this.#requestedAt = performance.now()
    if (this.#following === undefined) this.#start()
    return this.#isTrusted(this.#requestedAt) ? this.#head!.block : undefined
  }

  /**
   * Follows the head from now on, whatever the mode and whether requests come or not.
   * @returns what ends that
   */
  keepFollowing(): () => void {
    this.#keepers += 1
    if (this.#following === undefined && !this.#closed) this.#start()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#keepers -= 1
      this.#requestedAt = performance.now()
      if (this.#keepers === 0 && this.#options.mode === 'off') this.#stop()
    }
  }

  /**
   * A stream of blocks under construction, which keeps up while `isStreamed`, stands on this head: the node is asked for it now. In between it is not
   * asked at the chain's pace. Requests trust a head no longer for it.
   */
  hear(number: bigint): void {
    if (number <= this.#heard || this.#following === undefined) return
    this.#heard = number
    if (!this.#isSubscribed && number > this.newestNumber) this.#schedule(0)
  }

  /** Whether a stream is connected that tells of heads: see `hear`. */
  set isStreamed(isStreamed: boolean) {
    this.#isStreamed = isStreamed
    this.#heard = 0n
    if (!isStreamed && this.#following !== undefined) this.#schedule(0)
  }

  /** A block of the chain by its number, while its head needs no asking; one that was fetched by its hash. */
  header(which: bigint | Hash): BlockHeader | undefined {
    if (typeof which === 'string') return this.kept.get(which)?.header
    const head = this.current()?.header
    if (head === undefined || which > head.number) return undefined
    if (which === head.number) return head
    return this.kept.leadsTo(head) ? this.kept.at(which)?.header : undefined
  }

  /**
   * The block with this hash, kept or fetched once for all who ask; undefined where the node does not serve it.
   * @throws as `HeadFollowerOptions.byHash`
   */
  async block(hash: Hash, limits: CallLimits): Promise<B | undefined> {
    const kept = this.kept.get(hash)
    if (kept !== undefined) return kept
    const coming = await this.#coming
    if (coming?.header.hash === hash) return coming
    let asked = this.#underWay.get(hash)
    if (asked === undefined) {
      asked = this.#fetch(hash, limits).finally(() => this.#underWay.delete(hash))
      this.#underWay.set(hash, asked)
    }
    return asked
  }

  async #fetch(hash: Hash, limits: CallLimits): Promise<B | undefined> {
    const askedAt = performance.now()
    const block = await this.#options.byHash(hash, limits)
    if (block !== undefined) {
      this.kept.add(block)
      this.#next.noteTrip(performance.now() - askedAt)
    }
    return block
  }

  /**
   * Tells of a head that a node answered a request with. Requests stand on it from now on, prepared or not: nobody may be told
   * of an older one afterwards.
   * @param askedAt `performance.now()` when the node was asked
   */
  noteAsked(header: BlockHeader, askedAt: number): void {
    if (this.#following === undefined) {
      this.#pace.note(header, performance.now())
      return
    }
    const isCovered = askedAt >= this.#subscribedAt
    if (isCovered) this.#subscribedAt = Number.POSITIVE_INFINITY
    const current = this.#head
    if (header.hash === current?.block.key) {
      current.confirmedAt = Math.max(current.confirmedAt, askedAt)
      current.told ||= isCovered
      return
    }
    if (current !== undefined && header.number <= current.block.header.number && current.from !== ASKED) return
    const now = performance.now()
    this.#stand(header, ASKED, now, isCovered)
    this.#announce({ header, from: ASKED, at: now })
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

  /** What a subscription told is trusted until the next head is late; what was asked for only until the next could be there. */
  #isTrusted(now: number): boolean {
    if (this.#head === undefined) return false
    const { told, block, confirmedAt } = this.#head
    if (!told || !this.#isSubscribed) return now < (this.#pace.trustedUntil ?? Number.NEGATIVE_INFINITY)
    if (now - block.seenAt <= this.#pace.overdueMs) return true
    return now - confirmedAt <= Math.min(MOST_LAG_MS, this.#pace.intervalMs / 4)
  }

  /** A stream that keeps up stands on no newer head, and will tell of the next. */
  #isHeard(now: number): boolean {
    if (!this.#isStreamed || this.#head === undefined || this.#heard > this.newestNumber) return false
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
    clearTimeout(this.#nextTimer)
    clearTimeout(this.#idle)
    this.#head = undefined
    this.#intake.clear()
  }

  #restWhenIdle(idleMs: number): void {
    const left = this.#requestedAt + idleMs - performance.now()
    this.#idle = setTimeout(
      () => {
        if (this.#keepers > 0 || performance.now() - this.#requestedAt < idleMs) return this.#restWhenIdle(idleMs)
        this.#stop()
        this.#options.observe({ kind: 'resting' })
      },
      Math.max(left, LEAST_REST_MS),
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
    if (compares || !(this.#isTrusted(askedAt) || this.#isHeard(askedAt))) {
      this.#comparedAt = askedAt
      try {
        await this.#options.askHead(askLimits(signal))
      } catch (error) {
        if (!signal.aborted) this.#options.observe({ kind: 'unknown', reason: messageOf(error) })
      }
    }
    if (signal.aborted) return
    const now = performance.now()
    const isTold = (this.#head?.told && this.#isSubscribed) || this.#isHeard(now)
    this.#schedule(isTold ? this.#pace.overdueMs : this.#pace.nextAsk(now) - now)
  }

  /** Asks for the next block when it is due, once, so that the question travels while the block is made. */
  #awaitNext(): void {
    clearTimeout(this.#nextTimer)
    const { byNumber } = this.#options
    const number = this.newestNumber + 1n
    if (byNumber === undefined || !this.#head?.told || !this.#isSubscribed || number === this.#nextAsked) return
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
    this.#nextAsked = number
    this.#next.noteAsked()
    const deadline = performance.now() + this.#next.patienceMs
    const coming = byNumber(number, { signal, deadline }).catch(() => undefined)
    this.#coming = coming
    const block = await coming
    this.#coming = undefined
    if (signal.aborted) return
    this.#next.noteAnswer(number, block !== undefined)
    this.#options.observe({ kind: block === undefined ? 'inVain' : 'early', number })
    if (block === undefined) return
    // The node is no further than what is told.
    this.#comparedAt = performance.now()
    this.kept.add(block)
    // As if who announced the one before had announced it, which comes about now.
    this.#announce({ header: block.header, from: this.#head?.from ?? ASKED, at: performance.now() })
  }

  #onAnnouncement(header: unknown, from: string): void {
    try {
      const told = Buffer.isBuffer(header) ? JSON.parse(header.toString()) : header
      const announced = { header: headerFromRpc(told), from, at: performance.now() }
      this.#next.noteTold(announced.header.number, announced.at)
      this.#announce(announced)
    } catch (error) {
      this.#options.observe({ kind: 'unknown', reason: messageOf(error) })
    }
  }

  /** Takes up a head that is higher, or that replaces the head of the same node: a lower one of another node only lags. */
  #announce(announced: AnnouncedHead): void {
    const { header, from, at } = announced
    const current = this.#head
    if (from !== ASKED && header.hash === current?.block.key) {
      current.confirmedAt = at
      if (at - current.block.seenAt <= MOST_LAG_MS) current.told = true
      this.#awaitNext()
      return
    }
    if (header.hash === this.#intake.announced?.header.hash) return
    const newest = this.#intake.announced ?? (current && { header: current.block.header, from: current.from })
    if (newest !== undefined && header.number <= newest.header.number && from !== newest.from) return
    if (from !== REPLICA) this.#replica?.publish(JSON.stringify(blockHeaderToRpc(header)))
    this.#intake.announce(announced)
  }

  /** A request may have been answered with this head, or with a newer one, while this one was taken up. */
  #adopt({ from, at }: AnnouncedHead, { header }: B): void {
    const current = this.#head
    if (current?.block.key === header.hash) current.told ||= from !== ASKED
    else if (current === undefined || header.number > current.block.header.number || from === current.from)
      this.#stand(header, from, at, from !== ASKED)
  }

  #stand(header: BlockHeader, from: string, at: number, told: boolean): void {
    this.#pace.note(header, at, from === ASKED ? (this.#head?.confirmedAt ?? at) : at)
    const block = { header, key: header.hash, seenAt: at }
    this.#head = { block, from, told, confirmedAt: at }
    this.#awaitNext()
  }
}

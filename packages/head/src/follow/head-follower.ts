import type { BlockHeader, Hash } from '@upfront/protocol'
import { headerFromRpc } from '../block-from-rpc.js'
import { HeadSubscription } from './head-subscription.js'
import { Pace } from './pace.js'

/** A block as it is followed: its header and whatever the follower's owner needs beside it. */
export interface FollowedBlock {
  header: BlockHeader
}

export interface HeadFollowerOptions<B extends FollowedBlock> {
  /** `auto` follows while somebody asks, and for a minute after. */
  mode: 'auto' | 'always' | 'off'
  /** WebSocket URLs of nodes; without one, or while none is connected, the node is asked at the chain's pace. */
  urls: readonly string[]
  /** The node's head. */
  latest: (signal: AbortSignal) => Promise<B>
  /** The block with this hash; undefined while the node does not serve it. */
  byHash: (hash: Hash, signal: AbortSignal) => Promise<B | undefined>
  /**
   * Prepares the state of a new head on that of its parent. Requests stand on the head before meanwhile, `PREPARE_MS` at most.
   * @param parent undefined where the block does not follow the head before it
   */
  prepare?: (block: B, parent: B | undefined) => Promise<void>
  observe: (event: HeadEvent) => void
}

/** What the metrics count and the log says. */
export type HeadEvent =
  | { kind: 'following' }
  | { kind: 'resting' }
  | { kind: 'head'; header: BlockHeader; reorganised: boolean; missed: number }
  /** A node announced a block that no node serves. */
  | { kind: 'unserved'; hash: Hash }
  | { kind: 'lost'; host: string; reason: string }
  /** The node could not be asked; it is asked again. */
  | { kind: 'unknown'; reason: string }
  | { kind: 'failed'; reason: string }

/** For `/health/ready` and the metrics. */
export interface HeadStatus {
  following: boolean
  /** WebSocket connections that are subscribed, of how many. */
  subscribed: number
  urls: number
  head?: bigint
  /** Milliseconds since that head was first seen. */
  ageMs?: number
  /** Whether the next head is overdue: requests ask the node again. */
  overdue: boolean
  /** Learnt milliseconds between blocks. */
  intervalMs: number
}

/** Requests stay on the head before for so long while a new one is prepared. */
const PREPARE_MS = 50
/** Without a question for so long, `auto` stops following. */
const REST_AFTER_MS = 60_000
/** A block that was announced may be served a little later: how long it is asked for. */
const SERVED_WITHIN_MS = 2_000
const ASK_TIMEOUT_MS = 5_000
/** Blocks between the head before and a new one that are fetched, so that state can be carried over them. */
const MOST_MISSED = 8

interface Announced<B> {
  hash: Hash
  number: bigint
  from: string
  /** Where it was asked for. */
  block?: B | undefined
}

/**
 * Follows the chain's head. Nodes announce heads (`newHeads`) or are asked; each new head is fetched by hash, so that a node
 * serves it before a request stands on it, prepared, and then is what `current` says.
 */
export class HeadFollower<B extends FollowedBlock> {
  readonly #options: HeadFollowerOptions<B>
  readonly #pace = new Pace()
  #ended: AbortController | undefined
  #subscriptions: HeadSubscription[] = []
  #head: { block: B; from: string } | undefined
  /** When the head was first seen, and when a node last confirmed that it is the head. */
  #seenAt = 0
  #confirmedAt = 0
  #askedAt = 0
  /** The newest announcement that is not taken up yet. */
  #announced: Announced<B> | undefined
  #taking = false
  #timer: NodeJS.Timeout | undefined
  #rest: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: HeadFollowerOptions<B>) {
    this.#options = options
    if (options.mode === 'always') this.#start()
  }

  /** The head to stand on without asking; undefined where none is followed or the next one is overdue. */
  current(): B | undefined {
    const { mode } = this.#options
    if (mode === 'off' || this.#closed) return undefined
    this.#askedAt = performance.now()
    if (this.#ended === undefined) this.#start()
    return this.#head === undefined || this.#isOverdue(this.#askedAt) ? undefined : this.#head.block
  }

  /** Tells of a head that a request was answered with, asked for itself. */
  noteAsked(block: B): void {
    if (this.#ended === undefined) return
    if (block.header.hash === this.#head?.block.header.hash) this.#confirmedAt = performance.now()
    else this.#announce(block.header, ASKED, block)
  }

  status(): HeadStatus {
    const now = performance.now()
    return {
      following: this.#ended !== undefined,
      subscribed: this.#subscriptions.filter((each) => each.isSubscribed).length,
      urls: this.#options.urls.length,
      ...(this.#head && { head: this.#head.block.header.number, ageMs: now - this.#seenAt }),
      overdue: this.#head !== undefined && this.#isOverdue(now),
      intervalMs: this.#pace.intervalMs,
    }
  }

  close(): void {
    this.#closed = true
    this.#stop()
  }

  /** A subscription is trusted for a while when the next head is late; a head that was asked for only until the next is due. */
  #isOverdue(now: number): boolean {
    const told = this.#subscriptions.some((each) => each.isSubscribed)
    const trusted = told ? this.#pace.overdueMs : 1.05 * this.#pace.intervalMs
    return now - this.#seenAt > trusted && now - this.#confirmedAt > Math.max(50, this.#pace.intervalMs / 4)
  }

  #start(): void {
    this.#ended = new AbortController()
    this.#options.observe({ kind: 'following' })
    this.#subscriptions = this.#options.urls.map(
      (url) =>
        new HeadSubscription({
          url,
          silenceMs: () => Math.max(10_000, 4 * this.#pace.overdueMs),
          onHead: (header) => this.#onAnnouncement(header, url),
          onLost: (reason) => {
            this.#options.observe({ kind: 'lost', host: new URL(url).host, reason })
            this.#schedule(0)
          },
        }),
    )
    this.#schedule(0)
    if (this.#options.mode === 'auto') this.#restLater()
  }

  #stop(): void {
    this.#ended?.abort()
    this.#ended = undefined
    for (const subscription of this.#subscriptions) subscription.close()
    this.#subscriptions = []
    clearTimeout(this.#timer)
    clearTimeout(this.#rest)
    this.#head = undefined
    this.#announced = undefined
  }

  #restLater(): void {
    const left = this.#askedAt + REST_AFTER_MS - performance.now()
    this.#rest = setTimeout(
      () => {
        if (performance.now() - this.#askedAt < REST_AFTER_MS) return this.#restLater()
        this.#stop()
        this.#options.observe({ kind: 'resting' })
      },
      Math.max(left, 0),
    ).unref()
  }

  /** Asks for the head at the chain's pace, while no subscription tells of it or the next head is overdue. */
  #schedule(inMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#ask(), inMs).unref()
  }

  async #ask(): Promise<void> {
    const { signal } = this.#ended ?? {}
    if (signal === undefined) return
    const now = performance.now()
    const told = this.#subscriptions.some((each) => each.isSubscribed) && this.#head !== undefined
    if (!told || this.#isOverdue(now)) {
      try {
        this.noteAsked(await this.#options.latest(bounded(signal)))
      } catch (error) {
        if (!signal.aborted) this.#options.observe({ kind: 'unknown', reason: messageOf(error) })
      }
    }
    if (signal.aborted) return
    const after = performance.now()
    this.#schedule(told ? this.#pace.overdueMs : this.#pace.nextAsk(after) - after)
  }

  #onAnnouncement(header: unknown, from: string): void {
    try {
      this.#announce(headerFromRpc(header), from)
    } catch (error) {
      this.#options.observe({ kind: 'unknown', reason: messageOf(error) })
    }
  }

  /** Takes up a head that is higher, or that replaces the head of the same node: a lower one of another node only lags. */
  #announce({ hash, number }: BlockHeader, from: string, block?: B): void {
    const newest = this.#announced ?? (this.#head && { ...this.#head.block.header, from: this.#head.from })
    if (newest !== undefined) {
      if (hash === newest.hash) {
        this.#confirmedAt = performance.now()
        return
      }
      if (number <= newest.number && from !== newest.from) return
    }
    this.#announced = { hash, number, from, block }
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
      this.#head = undefined
      if (this.#ended !== undefined) this.#options.observe({ kind: 'failed', reason: messageOf(error) })
    } finally {
      this.#taking = false
    }
  }

  async #moveTo({ hash, from, block: asked }: Announced<B>): Promise<void> {
    const { signal } = this.#ended ?? {}
    if (signal === undefined) return
    const block = asked ?? (await this.#served(hash, signal))
    if (signal.aborted) return
    if (block === undefined) {
      this.#options.observe({ kind: 'unserved', hash })
      return
    }
    const before = this.#head?.block
    const missed = before === undefined ? [] : await this.#between(before, block, signal)
    let parent = before
    for (const each of [...missed, block]) {
      const follows = parent !== undefined && each.header.parentHash === parent.header.hash
      await this.#prepared(each, follows ? parent : undefined)
      parent = each
    }
    if (signal.aborted) return
    const now = performance.now()
    this.#head = { block, from }
    this.#seenAt = now
    this.#pace.note(block.header.number, now)
    const reorganised = before !== undefined && (missed[0] ?? block).header.parentHash !== before.header.hash
    this.#options.observe({ kind: 'head', header: block.header, reorganised, missed: missed.length })
  }

  /** The blocks after `before` and below `block`, oldest first; none where `block` does not stand on `before` within reach. */
  async #between(before: B, block: B, signal: AbortSignal): Promise<B[]> {
    const distance = Number(block.header.number - before.header.number)
    if (distance < 2 || distance > MOST_MISSED + 1) return []
    const found: B[] = []
    for (let lowest = block; lowest.header.parentHash !== before.header.hash; ) {
      if (found.length === distance - 1) return []
      const parent = await this.#options.byHash(lowest.header.parentHash, bounded(signal)).catch(() => undefined)
      if (parent === undefined) return []
      found.unshift(parent)
      lowest = parent
    }
    return found
  }

  async #served(hash: Hash, signal: AbortSignal): Promise<B | undefined> {
    const until = performance.now() + SERVED_WITHIN_MS
    for (let pause = 5; !signal.aborted; pause = Math.min(2 * pause, 200)) {
      const block = await this.#options.byHash(hash, bounded(signal)).catch(() => undefined)
      if (block !== undefined) return block
      if (performance.now() > until || this.#announced?.hash !== hash) return undefined
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
    return undefined
  }

  async #prepared(block: B, parent: B | undefined): Promise<void> {
    const { prepare } = this.#options
    if (prepare === undefined) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PREPARE_MS)
    })
    const done = prepare(block, parent).catch((error) => {
      this.#options.observe({ kind: 'failed', reason: messageOf(error) })
    })
    await Promise.race([done, late])
    clearTimeout(timer)
  }
}

/** Who is named as the source of a head that was asked for. */
const ASKED = ''

function bounded(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(ASK_TIMEOUT_MS)])
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

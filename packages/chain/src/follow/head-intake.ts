import { type CallLimits, type CancelSignal, messageOf, pause } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import type { HeadFollowerOptions } from './head-follower-options.js'
import type { KeptBlocks, WithHeader } from './kept-blocks.js'

/** How long requests stay on the previous head while a new one is prepared. */
const PREPARE_MS = 50
/** How long an announced block is requested: nodes may serve it a little later. */
const SERVED_WITHIN_MS = 2_000
/** Most missed blocks fetched below a new head, to carry state over them. */
const MAX_MISSED = 8
/** Most missed blocks fetched if a listener is told of every block. */
const MAX_BRIDGED = 256
/** Headers kept of followed blocks, so that a reorganisation finds its parent. */
const KNOWN_BLOCKS = 64

export interface AnnouncedHead {
  header: BlockHeader
  /** Source that announced it first. */
  from: string
  /** `performance.now()`. */
  at: number
}

interface Follower<B> {
  block(hash: Hash, limits: CallLimits): Promise<B | undefined>
  /** Undefined if following has stopped. */
  signal(): CancelSignal | undefined
  /** Whether a listener is told of every block. */
  reportsEveryBlock(): boolean
  /** Lets requests use the head, which a node serves. */
  adopt(head: AnnouncedHead, block: B): void
}

/**
 * Processes announced heads one after another, the newest first. Each is fetched by hash together with the blocks missed before it,
 * prepared, and reported. The only place that fills gaps.
 */
export class HeadIntake<B extends WithHeader> {
  readonly #options: HeadFollowerOptions<B>
  readonly #follower: Follower<B>
  readonly #kept: KeptBlocks<B>
  readonly #known = new LRUCache<Hash, BlockHeader>({ max: KNOWN_BLOCKS })
  /** Whether a head was processed since following began. The first one fetches at most `MAX_MISSED` blocks, however long the pause was. */
  #hasProcessed = false
  /** Since when heads could not be linked to the chain. */
  #unbridgedSince: number | undefined
  #announced: AnnouncedHead | undefined
  #isProcessing = false

  constructor(options: HeadFollowerOptions<B>, kept: KeptBlocks<B>, follower: Follower<B>) {
    this.#options = options
    this.#kept = kept
    this.#follower = follower
  }

  /** The newest announcement not processed yet. */
  get announced(): AnnouncedHead | undefined {
    return this.#announced
  }

  announce(head: AnnouncedHead): void {
    this.#announced = head
    if (!this.#isProcessing) void this.#processAnnounced()
  }

  clear(): void {
    this.#announced = undefined
    this.#hasProcessed = false
  }

  async #processAnnounced(): Promise<void> {
    this.#isProcessing = true
    try {
      for (let next = this.#announced; next !== undefined; next = this.#announced) {
        await this.#process(next)
        if (this.#announced === next) this.#announced = undefined
      }
    } catch (error) {
      this.#announced = undefined
      if (this.#follower.signal() !== undefined) this.#options.observe({ kind: 'failed', reason: messageOf(error) })
    } finally {
      this.#isProcessing = false
    }
  }

  async #process(announced: AnnouncedHead): Promise<void> {
    const { hash } = announced.header
    const signal = this.#follower.signal()
    if (signal === undefined) return
    const isNewest = () => this.#announced?.header.hash === hash
    const block = await this.#fetchServed(hash, announced, signal)
    if (signal.aborted) return
    if (block === undefined) {
      this.#options.observe({ kind: 'unserved', hash })
      return
    }
    const { header } = block
    const most = this.#hasProcessed && this.#follower.reportsEveryBlock() ? MAX_BRIDGED : MAX_MISSED
    // Only listeners that get every block have to wait for a node that does not serve one yet.
    const parentOf = (hash: Hash) =>
      this.#follower.reportsEveryBlock()
        ? this.#fetchServed(hash, announced, signal)
        : this.#follower.block(hash, askLimits(signal)).catch(() => undefined)
    // Requests wait no longer for the blocks before the head than for its state.
    const late = setTimeout(() => isNewest() && this.#follower.adopt(announced, block), PREPARE_MS)
    const bridge = await this.#kept.fetchBridge(block, most, parentOf).finally(() => clearTimeout(late))
    if (signal.aborted) return
    if (bridge === undefined) {
      this.#unbridgedSince ??= performance.now()
      // This head may be on an abandoned branch.
      if (!isNewest() && performance.now() - this.#unbridgedSince < SERVED_WITHIN_MS) return
    }
    const fresh = bridge ?? [block]
    await this.#prepareAll(fresh)
    if (signal.aborted) return
    this.#hasProcessed = true
    this.#unbridgedSince = undefined
    const change = this.#kept.advance(fresh, bridge === undefined)
    // The header as served: fields that an announcement omits or gets wrong don't matter.
    this.#follower.adopt(announced, block)
    this.#options.observe({ kind: 'head', header, reorganised: change.reorganised, missed: fresh.length - 1 })
    this.#options.onChange?.(change)
  }

  /** Asks for `head` or a block before it until the node serves it, or serves a head that was announced since. */
  async #fetchServed(hash: Hash, head: AnnouncedHead, signal: CancelSignal): Promise<B | undefined> {
    const until = performance.now() + SERVED_WITHIN_MS
    const ask = (wanted: Hash) => this.#follower.block(wanted, askLimits(signal)).catch(() => undefined)
    for (let wait = 5; !signal.aborted; wait = Math.min(2 * wait, 200)) {
      const block = await ask(hash)
      if (block !== undefined) return block
      const newest = this.#announced
      if (newest !== undefined && newest !== head && (await ask(newest.header.hash)) !== undefined) return undefined
      if (performance.now() > until) return undefined
      await pause(wait, signal).catch(() => undefined)
    }
    return undefined
  }

  /** Resolves once all are prepared, or after a time limit. @param blocks oldest first, each the child of the one before */
  async #prepareAll(blocks: readonly B[]): Promise<void> {
    const { prepare } = this.#options
    let done: Promise<void> | undefined
    for (const block of blocks.slice(-(MAX_MISSED + 1))) {
      const { header } = block
      if (this.#known.has(header.hash)) continue
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

const ASK_TIMEOUT_MS = 5_000

/** Limits of one request to a node while the head is followed. */
export function askLimits(signal: CancelSignal): CallLimits {
  return { signal, deadline: performance.now() + ASK_TIMEOUT_MS }
}

import { type CallLimits, type CancelSignal, pause } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { askLimits, reasonOf } from './asking.js'
import type { HeadFollowerOptions, WithHeader } from './head-follower-options.js'
import type { KeptBlocks } from './kept-blocks.js'
import { missedBlocks } from './missed-blocks.js'

/** Requests stay on the head before for so long while a new one is prepared. */
const PREPARE_MS = 50
/** A block that was announced may be served a little later: how long it is asked for. */
const SERVED_WITHIN_MS = 2_000
/** Blocks below a new head that are fetched, so that state can be carried over them. */
const MOST_MISSED = 8
/** Headers kept of the blocks that were followed, so that a reorganisation finds its parent. */
const KNOWN_BLOCKS = 64

export interface AnnouncedHead {
  header: BlockHeader
  /** Who announced it first. */
  from: string
  /** `performance.now()`. */
  at: number
}

interface Follower<B> {
  block(hash: Hash, limits: CallLimits): Promise<B | undefined>
  /** Undefined where nothing is followed any more. */
  signal(): CancelSignal | undefined
  /** A node serves the head, and it is prepared: requests may stand on it. */
  adopt(head: AnnouncedHead, block: B): void
}

/**
 * Takes up announced heads one after another, the newest first: each is fetched by hash with the blocks that were missed before it, and
 * prepared.
 */
export class HeadIntake<B extends WithHeader> {
  readonly #options: HeadFollowerOptions<B>
  readonly #follower: Follower<B>
  readonly #kept: KeptBlocks<B>
  readonly #known = new LRUCache<Hash, BlockHeader>({ max: KNOWN_BLOCKS })
  /** The newest head that was taken up. */
  #taken: BlockHeader | undefined
  #announced: AnnouncedHead | undefined
  #taking = false

  constructor(options: HeadFollowerOptions<B>, kept: KeptBlocks<B>, follower: Follower<B>) {
    this.#options = options
    this.#kept = kept
    this.#follower = follower
  }

  /** The newest announcement that is not taken up yet. */
  get announced(): AnnouncedHead | undefined {
    return this.#announced
  }

  announce(head: AnnouncedHead): void {
    this.#announced = head
    if (!this.#taking) void this.#takeUp()
  }

  clear(): void {
    this.#announced = undefined
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
      if (this.#follower.signal() !== undefined) this.#options.observe({ kind: 'failed', reason: reasonOf(error) })
    } finally {
      this.#taking = false
    }
  }

  async #moveTo(announced: AnnouncedHead): Promise<void> {
    const { hash } = announced.header
    const signal = this.#follower.signal()
    if (signal === undefined) return
    const block = await this.#served(hash, signal)
    if (signal.aborted) return
    if (block === undefined) {
      this.#options.observe({ kind: 'unserved', hash })
      return
    }
    const { header } = block
    const missed = await this.#missed(block, signal)
    await this.#prepared([...(missed ?? []), block])
    if (signal.aborted) return
    this.#taken = header
    const reorganised = this.#kept.lead(header)
    // As a node serves it: what an announcement leaves out, or has wrong, is of no matter.
    this.#follower.adopt(announced, block)
    this.#options.observe({ kind: 'head', header, reorganised, missed: missed?.length ?? 0 })
    this.#options.taken?.(block, reorganised)
  }

  async #missed(block: B, signal: CancelSignal): Promise<B[] | undefined> {
    const distance = this.#taken === undefined ? undefined : block.header.number - this.#taken.number
    // After a pause the last known block is out of reach: nothing is fetched in vain.
    if (distance === undefined || distance > MOST_MISSED + 1) return undefined
    return missedBlocks(block, {
      linkOf: ({ header }) => header,
      isKnown: (hash) => this.#known.has(hash),
      byHash: (hash) => this.#follower.block(hash, askLimits(signal)).catch(() => undefined),
      most: MOST_MISSED,
    })
  }

  async #served(hash: Hash, signal: CancelSignal): Promise<B | undefined> {
    const until = performance.now() + SERVED_WITHIN_MS
    for (let wait = 5; !signal.aborted; wait = Math.min(2 * wait, 200)) {
      const block = await this.#follower.block(hash, askLimits(signal)).catch(() => undefined)
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
        this.#options.observe({ kind: 'failed', reason: reasonOf(error) })
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

import type { BlockHeader } from '@upfront/protocol'
import type { FollowedBlock } from './head-follower-options.js'

/** Blocks that wait for the one before them; if preparing is slower than the chain, the oldest are left out. */
const MOST_WAITING = 8

interface Task<B> {
  block: B
  parent: BlockHeader | undefined
  done: () => void
}

/** Prepares blocks one after the other, in their order. A block whose parent was left out is prepared without it. */
export class Preparation<B extends FollowedBlock> {
  readonly #prepare: (block: B, parent: BlockHeader | undefined) => Promise<void>
  readonly #onFailed: (error: unknown) => void
  #waiting: Task<B>[] = []
  #running = false

  constructor(
    prepare: (block: B, parent: BlockHeader | undefined) => Promise<void>,
    onFailed: (error: unknown) => void,
  ) {
    this.#prepare = prepare
    this.#onFailed = onFailed
  }

  /** Resolves once the block is prepared, or left out. Never rejects. */
  add(block: B, parent: BlockHeader | undefined): Promise<void> {
    return new Promise((done) => {
      this.#waiting.push({ block, parent, done })
      if (this.#waiting.length > MOST_WAITING) {
        this.#waiting.shift()?.done()
        const [oldest] = this.#waiting
        if (oldest !== undefined) oldest.parent = undefined
      }
      if (!this.#running) void this.#run()
    })
  }

  /** Leaves out what waits. */
  clear(): void {
    for (const { done } of this.#waiting.splice(0)) done()
  }

  async #run(): Promise<void> {
    this.#running = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        await this.#prepare(next.block, next.parent)
      } catch (error) {
        this.#onFailed(error)
      }
      next.done()
    }
    this.#running = false
  }
}

import { Canceller } from '@upfront/node'
import type { BlockHeader } from '@upfront/protocol'
import type { Driver } from '../drive/driver.js'
import { pinnedState } from '../drive/pinned-state.js'
import { ReadBudget } from '../drive/read-budget.js'
import type { Sampled } from '../engine/block-carrier.js'
import { readKey } from '../engine/state.js'

export interface CarriedAuditOptions {
  driver: Pick<Driver, 'readAtNode'>
  everyMs: number
  /** Whether the first carried block is audited without waiting. */
  auditsFirst?: boolean | undefined
  onConfirmed: (header: BlockHeader, values: number) => void
  /** Called when the node's value differs from the carried one. */
  onContradicted: (header: BlockHeader, detail: string) => void
}

const TIMEOUT_MS = 10_000

/** Periodically compares carried values with the node's: values that the block wrote, and older ones. */
export class CarriedAudit {
  readonly #options: CarriedAuditOptions
  /** The newest carried block. */
  #newest: { header: BlockHeader; sample: readonly Sampled[] } | undefined
  #timer: NodeJS.Timeout | undefined
  #hasAudited = false
  #underWay: Canceller | undefined

  constructor(options: CarriedAuditOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#audit(), options.everyMs).unref()
  }

  /** Remembers a sample of a block's carried values. */
  note(header: BlockHeader, sample: readonly Sampled[]): void {
    if (sample.length === 0) return
    this.#newest = { header, sample }
    if (this.#hasAudited || !this.#options.auditsFirst) return
    this.#hasAudited = true
    void this.#audit()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#newest = undefined
    this.#underWay?.cancel(new Error('closed'))
  }

  async #audit(): Promise<void> {
    const looked = this.#newest
    if (looked === undefined || this.#underWay !== undefined) return
    this.#newest = undefined
    const { header, sample } = looked
    const cancellation = new Canceller()
    const budget = new ReadBudget(sample.length, performance.now() + TIMEOUT_MS)
    this.#underWay = cancellation
    try {
      const reads = sample.map(({ read }) => read)
      const at = pinnedState({ header, key: header.hash })
      const values = await this.#options.driver.readAtNode(reads, at, { budget, cancellation })
      const wrong = sample.findIndex(({ value }, index) => value !== BigInt(values[index]!))
      if (wrong === -1) return this.#options.onConfirmed(header, values.length)
      const { read, value } = sample[wrong]!
      this.#options.onContradicted(header, `${readKey(read)} is ${value} here, ${values[wrong]} at the node`)
    } catch {
      // The node could not be asked, or the block is gone: the next audit takes another block.
    } finally {
      this.#underWay = undefined
    }
  }
}

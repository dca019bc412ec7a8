import type { Hash } from '@upfront/protocol'
import type { CarryEvent } from '@upfront/simulation'
import type { HeadEvent } from './head-follower-options.js'

/** Several seconds of a chain with 200 ms blocks. */
const KEPT = 32

/** Statistics of one followed block for `/health/ready`. */
export interface RecentHead {
  block: string
  hash: Hash
  reorganised?: true
  /** Whether state was carried from the parent, and the reason if not. Absent until known. */
  carried?: boolean
  reason?: string
  detail?: string
  transactions?: number
  /** Values of state read from the node, and values written by the block. */
  read?: number
  written?: number
  tookMs?: number
}

/** The most recently followed blocks. */
export class RecentHeads {
  readonly #heads = new Map<Hash, RecentHead>()

  noteHead({ header, reorganised }: Extract<HeadEvent, { kind: 'head' }>): void {
    const head = this.#of(header)
    if (reorganised) head.reorganised = true
  }

  noteCarry(event: CarryEvent): void {
    if (event.kind === 'carried') {
      const { header, transactions, read, written, tookMs } = event
      Object.assign(this.#of(header), {
        carried: true,
        transactions,
        read,
        written,
        tookMs: Math.round(10 * tookMs) / 10,
      })
    } else if (event.kind === 'notCarried')
      Object.assign(this.#of(event.header), { carried: false, reason: event.reason, detail: event.detail })
    else if (event.kind === 'distrusted') for (const head of this.#heads.values()) head.carried = false
  }

  /** Whether the block's state was carried. Then values that earlier blocks read need not be read again. */
  isCarried(hash: Hash): boolean {
    return this.#heads.get(hash)?.carried === true
  }

  /** Oldest first. */
  all(): RecentHead[] {
    return [...this.#heads.values()]
  }

  #of({ number, hash }: { number: bigint; hash: Hash }): RecentHead {
    let head = this.#heads.get(hash)
    if (head === undefined) {
      head = { block: String(number), hash }
      this.#heads.set(hash, head)
      const [oldest] = this.#heads.keys()
      if (this.#heads.size > KEPT) this.#heads.delete(oldest!)
    }
    return head
  }
}

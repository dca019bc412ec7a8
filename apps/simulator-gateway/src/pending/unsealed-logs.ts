import type { AnnouncedBlock, PreconfirmedBlock, PreconfirmedSnapshot } from '@upfront/chain'
import type { Hash } from '@upfront/protocol'
import { pendingLogs } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'

/** A log of a block under construction, with the flashblock that brought it, or what became of it. */
export type UnsealedLog = ReturnType<typeof pendingLogs>[number] & {
  payloadId: string
  flashblock: number
  /** The sealed block holds it; the other fields are as in that block. */
  confirmed?: true
  removed: boolean
}

interface Shown {
  block: PreconfirmedBlock
  logs: UnsealedLog[]
}

/** Sealed blocks whose confirmed logs are taken back should a reorganisation drop them. */
const MOST_SEALED = 64

/**
 * Logs of blocks under construction: sent when a flashblock brings them, and again, each once, with `confirmed: true` when a block
 * that holds them is sealed, or with `removed: true` when they are gone. A reorganisation takes back confirmed ones, too.
 */
export class UnsealedLogs {
  /** Sent and not yet settled, by block number. */
  readonly #shown = new Map<bigint, Shown>()
  readonly #confirmed = new LRUCache<Hash, UnsealedLog[]>({ max: MOST_SEALED })
  #sealed = -1n
  readonly #send: (log: UnsealedLog) => void

  constructor(send: (log: UnsealedLog) => void) {
    this.#send = send
  }

  /** Those that wait to be confirmed or removed, in the order of their blocks. */
  current(): UnsealedLog[] {
    return [...this.#shown.values()].flatMap(({ logs }) => logs)
  }

  show({ blocks }: PreconfirmedSnapshot): void {
    for (const block of blocks) {
      const { number } = block.environment
      // A sealed block was settled: a snapshot may still hold it for a moment.
      if (number <= this.#sealed) continue
      const shown = this.#shown.get(number)
      if (shown?.block !== block) this.#shown.set(number, { block, logs: this.#compared(block, shown) })
    }
  }

  /** A block was sealed: its logs decide, whatever its hash. */
  settle({ number, hash, logs }: AnnouncedBlock): void {
    if (number > this.#sealed) this.#sealed = number
    const sealed = new Map(logs.map(({ fields }) => [keyOf(fields), fields]))
    const confirmed: UnsealedLog[] = []
    for (const [height, { logs: waiting }] of this.#shown) {
      if (height > number) continue
      this.#shown.delete(height)
      for (const log of waiting) {
        const found = sealed.get(keyOf(log))
        if (found === undefined) this.#send({ ...log, removed: true })
        else confirmed.push({ ...log, ...found, confirmed: true })
      }
    }
    for (const log of confirmed) this.#send(log)
    this.#confirmed.set(hash, confirmed)
  }

  /** A reorganisation took a sealed block back. */
  unsettle({ number, hash }: AnnouncedBlock): void {
    if (this.#sealed >= number) this.#sealed = number - 1n
    for (const { confirmed: _, ...log } of this.#confirmed.get(hash)?.toReversed() ?? [])
      this.#send({ ...log, removed: true })
    this.#confirmed.delete(hash)
  }

  /** The logs that are shown from now on; sends what is new and takes back what is gone. */
  #compared(block: PreconfirmedBlock, shown: Shown | undefined): UnsealedLog[] {
    const place = { payloadId: block.payloadId, flashblock: block.index }
    const all = pendingLogs(block)
    const before = shown?.logs ?? []
    const isContinued = shown !== undefined && continues(block, shown.block)
    const staying = isContinued ? before : this.#stayingOf(before, new Set(all.map(keyOf)))
    const known = isContinued ? undefined : new Set(staying.map(keyOf))
    const fresh = (known ? all.filter((log) => !known.has(keyOf(log))) : all.slice(before.length)).map((log) => ({
      ...log,
      ...place,
    }))
    for (const log of fresh) this.#send(log)
    return [...staying, ...fresh]
  }

  #stayingOf(before: UnsealedLog[], kept: ReadonlySet<string>): UnsealedLog[] {
    for (const log of before.toReversed()) if (!kept.has(keyOf(log))) this.#send({ ...log, removed: true })
    return before.filter((log) => kept.has(keyOf(log)))
  }
}

/** Whether a block only adds to what it was: its first receipts are the same objects. */
function continues({ receipts }: PreconfirmedBlock, before: PreconfirmedBlock): boolean {
  return before.receipts.every((receipt, index) => receipt === receipts[index])
}

/** The same transaction's log at the same place in its block: hashes of blocks under construction are not those of sealed ones. */
function keyOf(log: object): string {
  const { transactionHash, logIndex, address, topics, data } = log as Record<string, unknown>
  return JSON.stringify([transactionHash, logIndex, address, topics, data])
}

import type { AnnouncedBlock, PreconfirmedBlock, PreconfirmedSnapshot } from '@upfront/chain'
import type { Hash } from '@upfront/protocol'
import { pendingLogs } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'

/** A log of a block under construction as it is sent: new, confirmed or removed. */
export type UnsealedLog = ReturnType<typeof pendingLogs>[number] & {
  payloadId: string
  flashblock: number
  /** The log is in the sealed block; the other fields are those of the sealed block. */
  confirmed?: true
  removed: boolean
}

interface Shown {
  block: PreconfirmedBlock
  logs: UnsealedLog[]
}

/** Sealed blocks whose confirmed logs can still be removed by a reorganisation. */
const MAX_SEALED = 64

/**
 * Logs of blocks under construction. Each is sent when its flashblock arrives, and once more: with `confirmed: true` when it is in the
 * sealed block, or with `removed: true` when it is gone. A reorganisation removes confirmed logs too.
 */
export class UnsealedLogs {
  /** Sent logs that are neither confirmed nor removed, by block number. */
  readonly #shown = new Map<bigint, Shown>()
  readonly #confirmed = new LRUCache<Hash, UnsealedLog[]>({ max: MAX_SEALED })
  #sealed = -1n
  readonly #send: (log: UnsealedLog) => void

  constructor(send: (log: UnsealedLog) => void) {
    this.#send = send
  }

  /** The logs that are neither confirmed nor removed yet, in block order. */
  current(): UnsealedLog[] {
    return [...this.#shown.values()].flatMap(({ logs }) => logs)
  }

  onSnapshot({ blocks }: PreconfirmedSnapshot): void {
    for (const block of blocks) {
      const { number } = block.environment
      // Already settled: a snapshot may still contain a block that has just been sealed.
      if (number <= this.#sealed) continue
      const shown = this.#shown.get(number)
      if (shown?.block !== block) this.#shown.set(number, { block, logs: this.#compareLogs(block, shown) })
    }
  }

  /** A block was sealed: its logs are compared by content, because its hash differs from that of the block under construction. */
  onSealed({ number, hash, logs }: AnnouncedBlock): void {
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

  /** A reorganisation removed a sealed block. */
  onReorganised({ number, hash }: AnnouncedBlock): void {
    if (this.#sealed >= number) this.#sealed = number - 1n
    for (const { confirmed: _, ...log } of this.#confirmed.get(hash)?.toReversed() ?? [])
      this.#send({ ...log, removed: true })
    this.#confirmed.delete(hash)
  }

  /** The logs of `block`; sends the new ones and removes those that are gone. */
  #compareLogs(block: PreconfirmedBlock, shown: Shown | undefined): UnsealedLog[] {
    const place = { payloadId: block.payloadId, flashblock: block.index }
    const all = pendingLogs(block)
    const before = shown?.logs ?? []
    const isContinued = shown !== undefined && extendsBlock(block, shown.block)
    const staying = isContinued ? before : this.#removeGone(before, new Set(all.map(keyOf)))
    const known = isContinued ? undefined : new Set(staying.map(keyOf))
    const fresh = (known ? all.filter((log) => !known.has(keyOf(log))) : all.slice(before.length)).map((log) => ({
      ...log,
      ...place,
    }))
    for (const log of fresh) this.#send(log)
    return [...staying, ...fresh]
  }

  #removeGone(before: UnsealedLog[], kept: ReadonlySet<string>): UnsealedLog[] {
    for (const log of before.toReversed()) if (!kept.has(keyOf(log))) this.#send({ ...log, removed: true })
    return before.filter((log) => kept.has(keyOf(log)))
  }
}

/** Whether `block` only extends `before`: its first receipts are the same objects. */
function extendsBlock({ receipts }: PreconfirmedBlock, before: PreconfirmedBlock): boolean {
  return before.receipts.every((receipt, index) => receipt === receipts[index])
}

/** Identifies a log by transaction, index and content: the block's hash changes when it is sealed. */
function keyOf(log: object): string {
  const { transactionHash, logIndex, address, topics, data } = log as Record<string, unknown>
  return JSON.stringify([transactionHash, logIndex, address, topics, data])
}

import type { PreconfirmedSnapshot } from '@upfront/preconfirmed'
import { type LogFilter, logMatches } from '@upfront/protocol'
import { presentPendingLogs } from '@upfront/simulation'
import type { AnnouncedBlock } from '../chain/announced-blocks.js'

type PendingLog = ReturnType<typeof presentPendingLogs>[number]

/**
 * Logs of blocks under construction for one subscriber: sent when a flashblock brings them, and again, each once, with
 * `confirmed: true` when a block that holds them is sealed, or with `removed: true` when they are gone.
 */
export class UnsealedLogs {
  /** Sent and not yet settled, by block number. */
  readonly #sent = new Map<bigint, PendingLog[]>()
  #sealed = -1n

  constructor(
    private readonly filter: LogFilter,
    private readonly send: (log: object) => void,
  ) {}

  show({ blocks }: PreconfirmedSnapshot): void {
    for (const block of blocks) {
      const { number } = block.environment
      // A sealed block was settled: a snapshot may still hold it for a moment.
      if (number <= this.#sealed) continue
      const logs = presentPendingLogs([block], this.filter)
      const before = this.#sent.get(number) ?? []
      for (const gone of before.toReversed())
        if (!logs.some((log) => isSame(log, gone))) this.send({ ...gone, removed: true })
      for (const log of logs)
        if (!before.some((known) => isSame(known, log))) this.send({ ...log, flashblock: block.index })
      this.#sent.set(number, logs)
    }
  }

  /** A block was sealed: its logs decide, whatever its hash. */
  settle({ number, logs }: AnnouncedBlock): void {
    if (number > this.#sealed) this.#sealed = number
    for (const [height, sent] of this.#sent) {
      if (height > number) continue
      this.#sent.delete(height)
      for (const log of sent) {
        const sealed = logs.find((candidate) => logMatches(candidate, this.filter) && isSame(candidate, log))
        this.send(sealed === undefined ? { ...log, removed: true } : { ...sealed, confirmed: true })
      }
    }
  }
}

/** Of the same transaction at the same place in its block: hashes of blocks under construction are not those of sealed ones. */
function isSame(one: object, other: object): boolean {
  return keyOf(one) === keyOf(other)
}

function keyOf(log: object): string {
  const { transactionHash, logIndex, address, topics, data } = log as Record<string, unknown>
  return JSON.stringify([transactionHash, logIndex, address, topics, data])
}

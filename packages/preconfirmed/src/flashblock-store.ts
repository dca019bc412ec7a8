import type { Hash, Hex } from '@upfront/protocol'
import type { Flashblock, FlashblockBase } from './flashblock.js'

/** What became of a flashblock that came in. Only `next`, `first` and `restart` can change what `pending` shows at once. */
export type Arrival =
  /** Continues the attempt without a gap. */
  | 'next'
  /** Index 0 of a block that was not there yet. */
  | 'first'
  /** Index 0 of another attempt at a block that is there. */
  | 'restart'
  /** The same payload and index again. */
  | 'duplicate'
  /** An index further on than the next one; kept until what lies between arrives. */
  | 'gap'
  /** A block that the node's head has reached or passed. */
  | 'stale'
  /** A block too far ahead of the node's head to be kept. */
  | 'ahead'

/** One sequencer's attempt at a block: all flashblocks with one payload id. */
export interface Attempt {
  readonly payloadId: Hex
  readonly blockNumber: bigint
  readonly byIndex: Map<number, Flashblock>
  /** Flashblocks from this index on are not used: executing them on what lies below gave another result than they claim. */
  faultyFrom: number
  /** The connection was lost since: whether more came is unknown, so that no later block may stand on it. */
  interrupted: boolean
}

/** A block as far as it is known without a gap. */
export interface BlockPrefix {
  blockNumber: bigint
  payloadId: Hex
  base: FlashblockBase
  /** Indices 0 to n, none missing. */
  flashblocks: Flashblock[]
}

export interface CanonicalHead {
  number: bigint
  hash: Hash
}

/** Blocks kept above the node's head, and below it (a head that goes back finds them again). */
const KEPT_ABOVE = 8n
const KEPT_BELOW = 2n
/** Attempts kept for one block, and flashblocks for one attempt. */
const MAX_ATTEMPTS = 4
const MAX_FLASHBLOCKS = 256
const MAX_TRANSACTION_CHARACTERS = 256 * 2 ** 20

/**
 * The flashblocks that came in, in whatever order. It decides nothing but what is worth keeping; `desiredChain` reads off
 * what `pending` should be.
 */
export class FlashblockStore {
  /** Attempts at each block in the order of their first message. */
  private readonly attempts = new Map<bigint, Attempt[]>()

  add(flashblock: Flashblock, head: CanonicalHead): Arrival {
    const { blockNumber, payloadId, index } = flashblock
    if (blockNumber <= head.number - KEPT_BELOW) return 'stale'
    if (blockNumber > head.number + KEPT_ABOVE || index >= MAX_FLASHBLOCKS) return 'ahead'
    const known = this.attempts.get(blockNumber) ?? []
    let attempt = known.find((each) => each.payloadId === payloadId)
    if (attempt?.byIndex.has(index)) return 'duplicate'
    if (!attempt) {
      attempt = { payloadId, blockNumber, byIndex: new Map(), faultyFrom: Number.POSITIVE_INFINITY, interrupted: false }
      this.attempts.set(blockNumber, [...known, attempt].slice(-MAX_ATTEMPTS))
    }
    attempt.byIndex.set(index, flashblock)
    this.bound()
    if (blockNumber <= head.number) return 'stale'
    if (index === 0) return known.some((each) => each.byIndex.has(0)) ? 'restart' : 'first'
    if (prefixLength(attempt) <= index) return 'gap'
    attempt.interrupted = false
    return 'next'
  }

  /** Drops the highest blocks while more transaction bytes are kept than `MAX_TRANSACTION_CHARACTERS` allows. */
  private bound(): void {
    let kept = 0
    for (const number of [...this.attempts.keys()].sort((a, b) => (a < b ? -1 : 1))) {
      for (const attempt of this.attempts.get(number) ?? [])
        for (const flashblock of attempt.byIndex.values()) for (const raw of flashblock.transactions) kept += raw.length
      if (kept > MAX_TRANSACTION_CHARACTERS) this.attempts.delete(number)
    }
  }

  /** Forgets what the node's head has left behind, or what lies beyond reach. */
  prune(head: CanonicalHead): void {
    for (const number of this.attempts.keys())
      if (number <= head.number - KEPT_BELOW || number > head.number + KEPT_ABOVE) this.attempts.delete(number)
  }

  /** To be called when the connection is lost: what comes after may miss the end of the newest blocks. */
  interrupt(): void {
    for (const attempts of this.attempts.values()) for (const attempt of attempts) attempt.interrupted = true
  }

  /** Takes back what was said of blocks above `blockNumber`: what they stand on has changed. */
  forgiveAbove(blockNumber: bigint): void {
    for (const [number, attempts] of this.attempts)
      if (number > blockNumber) for (const attempt of attempts) attempt.faultyFrom = Number.POSITIVE_INFINITY
  }

  find(blockNumber: bigint, payloadId: Hex): Attempt | undefined {
    return this.attempts.get(blockNumber)?.find((each) => each.payloadId === payloadId)
  }

  /**
   * The newest consistent prefix above `head`: for each block the newest attempt that has an index 0 and stands on its
   * parent. The parent's hash is known for the first block only, as those above stand on blocks not sealed yet.
   */
  desiredChain(head: CanonicalHead): BlockPrefix[] {
    const chain: BlockPrefix[] = []
    for (let number = head.number + 1n; ; number++) {
      const attempt = this.attempts
        .get(number)
        ?.findLast((each) => opens(each) && (chain.length > 0 || parentHash(each) === head.hash))
      const base = attempt?.byIndex.get(0)?.base
      if (!attempt || !base) return chain
      const below = chain.at(-1)
      if (below && base.timestamp < below.base.timestamp) return chain
      const length = Math.min(prefixLength(attempt), attempt.faultyFrom)
      chain.push({
        blockNumber: number,
        payloadId: attempt.payloadId,
        base,
        flashblocks: Array.from({ length }, (_, i) => attempt.byIndex.get(i) as Flashblock),
      })
      if (length < attempt.byIndex.size || attempt.interrupted) return chain
    }
  }

  /** Whether a block above the head is known that does not stand on it: the node is on another fork, or behind. */
  standsElsewhere(head: CanonicalHead): boolean {
    const attempts = this.attempts.get(head.number + 1n) ?? []
    const opened = attempts.filter(opens)
    return opened.length > 0 && opened.every((each) => parentHash(each) !== head.hash)
  }
}

function opens(attempt: Attempt): boolean {
  return attempt.byIndex.has(0) && attempt.faultyFrom > 0
}

function parentHash(attempt: Attempt): Hash | undefined {
  return attempt.byIndex.get(0)?.base?.parentHash
}

function prefixLength(attempt: Attempt): number {
  let length = 0
  while (attempt.byIndex.has(length)) length++
  return length
}

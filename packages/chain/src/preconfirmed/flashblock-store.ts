import type { BlockHeader, Hash, Hex } from '@upfront/protocol'
import { type BlockEnvironment, type ChainRules, isForkActive, nextExcessBlobGas, rulesAt } from '@upfront/simulation'
import type { Flashblock, FlashblockBase } from './flashblock.js'

/** What became of a flashblock that came in. Only `next`, `first` and `restart` can change what `pending` shows at once. */
export type Arrival =
  /** Continues the payload without a gap. */
  | 'next'
  /** Index 0 of a block that was not there yet. */
  | 'first'
  /** Index 0 of another payload for a block that is there. */
  | 'restart'
  /** The same payload and index again. */
  | 'duplicate'
  /** An index further on than the next one; kept until what lies between arrives. */
  | 'gap'
  /** A block that the node's head has reached or passed. */
  | 'stale'
  /** A block too far ahead of the node's head to be kept. */
  | 'ahead'

/** A sequencer's attempt at a block: all flashblocks with one payload id. */
export interface Payload {
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
/** Payloads kept for one block, and flashblocks for one payload. */
const MAX_PAYLOADS = 4
const MAX_FLASHBLOCKS = 256
const MAX_TRANSACTION_CHARACTERS = 256 * 2 ** 20

/**
 * The flashblocks that came in, in whatever order. It decides nothing but what is worth keeping; `desiredChain` reads off
 * what `pending` should be.
 */
export class FlashblockStore {
  /** Payloads for each block in the order of their first message. */
  readonly #payloads = new Map<bigint, Payload[]>()

  add(flashblock: Flashblock, head: CanonicalHead): Arrival {
    const { blockNumber, payloadId, index } = flashblock
    if (blockNumber <= head.number - KEPT_BELOW) return 'stale'
    if (blockNumber > head.number + KEPT_ABOVE || index >= MAX_FLASHBLOCKS) return 'ahead'
    const known = this.#payloads.get(blockNumber) ?? []
    let payload = known.find((each) => each.payloadId === payloadId)
    if (payload?.byIndex.has(index)) return 'duplicate'
    if (!payload) {
      payload = { payloadId, blockNumber, byIndex: new Map(), faultyFrom: Number.POSITIVE_INFINITY, interrupted: false }
      this.#payloads.set(blockNumber, [...known, payload].slice(-MAX_PAYLOADS))
    }
    payload.byIndex.set(index, flashblock)
    this.#bound()
    if (blockNumber <= head.number) return 'stale'
    if (index === 0) return known.some((each) => each.byIndex.has(0)) ? 'restart' : 'first'
    if (prefixLength(payload) <= index) return 'gap'
    payload.interrupted = false
    return 'next'
  }

  /** Drops the highest blocks while more transaction bytes are kept than `MAX_TRANSACTION_CHARACTERS` allows. */
  #bound(): void {
    let kept = 0
    for (const number of [...this.#payloads.keys()].sort((a, b) => (a < b ? -1 : 1))) {
      for (const payload of this.#payloads.get(number) ?? [])
        for (const flashblock of payload.byIndex.values()) for (const raw of flashblock.transactions) kept += raw.length
      if (kept > MAX_TRANSACTION_CHARACTERS) this.#payloads.delete(number)
    }
  }

  /** Forgets what the node's head has left behind, or what lies beyond reach. */
  prune(head: CanonicalHead): void {
    for (const number of this.#payloads.keys())
      if (number <= head.number - KEPT_BELOW || number > head.number + KEPT_ABOVE) this.#payloads.delete(number)
  }

  /** To be called when the connection is lost: what comes after may miss the end of the newest blocks. */
  interrupt(): void {
    for (const payloads of this.#payloads.values()) for (const payload of payloads) payload.interrupted = true
  }

  /** Takes back what was said of blocks above `blockNumber`: what they stand on has changed. */
  forgiveAbove(blockNumber: bigint): void {
    for (const [number, payloads] of this.#payloads)
      if (number > blockNumber) for (const payload of payloads) payload.faultyFrom = Number.POSITIVE_INFINITY
  }

  find(blockNumber: bigint, payloadId: Hex): Payload | undefined {
    return this.#payloads.get(blockNumber)?.find((each) => each.payloadId === payloadId)
  }

  /**
   * The newest consistent prefix above `head`: for each block the newest payload that has an index 0 and stands on its
   * parent. The parent's hash is known for the first block only, as those above stand on blocks not sealed yet.
   */
  desiredChain(head: CanonicalHead): BlockPrefix[] {
    const chain: BlockPrefix[] = []
    for (let number = head.number + 1n; ; number++) {
      const payload = this.#payloads
        .get(number)
        ?.findLast((each) => opens(each) && (chain.length > 0 || parentHash(each) === head.hash))
      const base = payload?.byIndex.get(0)?.base
      if (!payload || !base) return chain
      const below = chain.at(-1)
      if (below && base.timestamp < below.base.timestamp) return chain
      const length = Math.min(prefixLength(payload), payload.faultyFrom)
      chain.push({
        blockNumber: number,
        payloadId: payload.payloadId,
        base,
        flashblocks: Array.from({ length }, (_, i) => payload.byIndex.get(i) as Flashblock),
      })
      if (length < payload.byIndex.size || payload.interrupted) return chain
    }
  }
}

function opens(payload: Payload): boolean {
  return payload.byIndex.has(0) && payload.faultyFrom > 0
}

function parentHash(payload: Payload): Hash | undefined {
  return payload.byIndex.get(0)?.base?.parentHash
}

function prefixLength(payload: Payload): number {
  let length = 0
  while (payload.byIndex.has(length)) length++
  return length
}

/** A sealed block as the node has it. */
export interface CanonicalBlock {
  header: BlockHeader
  transactionHashes: readonly Hash[]
  /** Whether it takes blocks back that were the chain's. */
  reorganised: boolean
}

/** What the metrics count and the log says. */
export type PreconfirmedEvent =
  | { kind: 'arrival'; arrival: Arrival; blockNumber: bigint; index: number }
  /** A flashblock shows in `pending`. */
  | { kind: 'visible'; blockNumber: bigint; index: number; transactions: number; gasUsed: bigint; afterMs: number }
  /** The node's head is the block that was pre-confirmed: its layers are part of the head now. */
  | { kind: 'folded'; blockNumber: bigint }
  /** The node's head is another block than was pre-confirmed at its height. */
  | { kind: 'differs'; blockNumber: bigint }
  /** The node's head is no child of the one before. */
  | { kind: 'reorganised'; blockNumber: bigint }
  /** Executing gave something else than the flashblock claims, or the block's rules refuse a transaction. */
  | { kind: 'mismatch'; blockNumber: bigint; index: number; reason: string }
  /** A transaction reaches code that the chain's nodes have of their own (Base's B20), which is not executed here. */
  | { kind: 'nativePrecompile'; blockNumber: bigint; index: number; reason: string }
  /** The node could not be read; tried again. */
  | { kind: 'unreadable'; blockNumber: bigint; reason: string }
  /** Following failed unexpectedly; the next flashblock or head starts from the canonical head again. */
  | { kind: 'failed'; reason: string }
  /** `pending` stands on the canonical head from now on. */
  | { kind: 'fallback' }

/** The environment of a pre-confirmed block on its parent; undefined where no rules are known for its time. */
export function environmentOf(
  { base, blockNumber }: BlockPrefix,
  parent: BlockHeader,
  chain: ChainRules,
): BlockEnvironment | undefined {
  const rules = rulesAt(chain, blockNumber, base.timestamp)
  if (!rules) return undefined
  const environment: BlockEnvironment = {
    number: blockNumber,
    timestamp: base.timestamp,
    parentHash: base.parentHash,
    gasLimit: base.gasLimit,
    feeRecipient: base.feeRecipient,
    prevRandao: base.prevRandao,
    baseFeePerGas: base.baseFeePerGas,
    extraData: base.extraData,
    rules,
  }
  if (!isForkActive(rules.fork, 'cancun')) return environment
  return {
    ...environment,
    parentBeaconBlockRoot: base.parentBeaconBlockRoot,
    excessBlobGas: nextExcessBlobGas(parent, rules),
  }
}

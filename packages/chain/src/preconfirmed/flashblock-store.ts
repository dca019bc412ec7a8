import type { BlockHeader, Hash, Hex } from '@upfront/protocol'
import { type BlockEnvironment, type ChainRules, isForkActive, nextExcessBlobGas, rulesAt } from '@upfront/simulation'
import type { Flashblock, FlashblockBase } from './flashblock.js'

/** How an incoming flashblock relates to those in the store. Only `next`, `first` and `restart` can change `pending` at once. */
export type Arrival =
  /** Continues the payload without a gap. */
  | 'next'
  /** Index 0 of a new block. */
  | 'first'
  /** Index 0 of another payload for a known block. */
  | 'restart'
  /** Same payload and index as before. */
  | 'duplicate'
  /** Skips an index. Kept until the missing ones arrive. */
  | 'gap'
  /** For a block that the node's head has reached or passed. */
  | 'stale'
  /** For a block too far ahead of the node's head to keep, or with an index of `MAX_FLASHBLOCKS` or more. */
  | 'ahead'

/** A sequencer's attempt at a block: all flashblocks with one payload id. */
export interface Payload {
  readonly payloadId: Hex
  readonly blockNumber: bigint
  readonly byIndex: Map<number, Flashblock>
  /** Flashblocks from this index on are ignored: executing them gave another result than they claim. */
  faultyFrom: number
  /** Whether the connection was lost since. More flashblocks may have been missed, so no later block may build on this one. */
  interrupted: boolean
}

/** The part of a block that is known without a gap. */
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

/** Blocks kept above the node's head, and below it in case the head goes back. */
const KEPT_ABOVE = 8n
const KEPT_BELOW = 2n
/** Most payloads kept per block, and flashblocks per payload. */
const MAX_PAYLOADS = 4
const MAX_FLASHBLOCKS = 256
const MAX_TRANSACTION_CHARACTERS = 256 * 2 ** 20
/** What a transaction takes besides its text. */
const ENTRY_CHARACTERS = 32

/** The flashblocks received, in any order. It only decides which to keep; `desiredChain` derives what `pending` should be. */
export class FlashblockStore {
  /** Payloads of each block, in order of their first message. */
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
    this.#enforceBound()
    if (blockNumber <= head.number) return 'stale'
    if (index === 0) return known.some((each) => each.byIndex.has(0)) ? 'restart' : 'first'
    if (prefixLength(payload) <= index) return 'gap'
    payload.interrupted = false
    return 'next'
  }

  /** Drops the highest blocks while more transaction bytes are kept than `MAX_TRANSACTION_CHARACTERS` allows. */
  #enforceBound(): void {
    let kept = 0
    for (const number of [...this.#payloads.keys()].sort((a, b) => (a < b ? -1 : 1))) {
      for (const payload of this.#payloads.get(number) ?? [])
        for (const flashblock of payload.byIndex.values())
          for (const raw of flashblock.transactions) kept += raw.length + ENTRY_CHARACTERS
      if (kept > MAX_TRANSACTION_CHARACTERS) this.#payloads.delete(number)
    }
  }

  /** Drops blocks that the node's head has passed, or that are too far ahead of it. */
  prune(head: CanonicalHead): void {
    for (const number of this.#payloads.keys())
      if (number <= head.number - KEPT_BELOW || number > head.number + KEPT_ABOVE) this.#payloads.delete(number)
  }

  /** Call it when the connection is lost: the newest blocks may miss their last flashblocks. */
  interrupt(): void {
    for (const payloads of this.#payloads.values()) for (const payload of payloads) payload.interrupted = true
  }

  /** Clears the faults of blocks above `blockNumber`, because their base changed. */
  clearFaultsAbove(blockNumber: bigint): void {
    for (const [number, payloads] of this.#payloads)
      if (number > blockNumber) for (const payload of payloads) payload.faultyFrom = Number.POSITIVE_INFINITY
  }

  find(blockNumber: bigint, payloadId: Hex): Payload | undefined {
    return this.#payloads.get(blockNumber)?.find((each) => each.payloadId === payloadId)
  }

  /**
   * The newest consistent prefix above `head`: for each block, the newest payload that has index 0 and builds on the block's parent. Only
   * the first block's parent hash can be checked, because later blocks build on unsealed ones.
   */
  desiredChain(head: CanonicalHead): BlockPrefix[] {
    const chain: BlockPrefix[] = []
    for (let number = head.number + 1n; ; number++) {
      const payload = this.#payloads
        .get(number)
        ?.findLast((each) => isUsable(each) && (chain.length > 0 || parentHash(each) === head.hash))
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

function isUsable(payload: Payload): boolean {
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

/** A sealed block as the node serves it. */
export interface CanonicalBlock {
  header: BlockHeader
  transactionHashes: readonly Hash[]
  /** Whether it replaces blocks of the chain. */
  reorganised: boolean
}

/** Events for metrics and logs. */
export type PreconfirmedEvent =
  | { kind: 'arrival'; arrival: Arrival; blockNumber: bigint; index: number }
  /** A flashblock became visible in `pending`. */
  | { kind: 'visible'; blockNumber: bigint; index: number; transactions: number; gasUsed: bigint; afterMs: number }
  /** The node's head is the pre-confirmed block, whose layers now belong to the head. */
  | { kind: 'folded'; blockNumber: bigint }
  /** The node's head differs from the block that was pre-confirmed at its height. */
  | { kind: 'differs'; blockNumber: bigint }
  /** The node's head is not a child of the previous head. */
  | { kind: 'reorganised'; blockNumber: bigint }
  /** The execution contradicts the flashblock, or a transaction is invalid in the block. */
  | { kind: 'mismatch'; blockNumber: bigint; index: number; reason: string }
  /** A transaction reaches a precompile that only the chain's own nodes have (Base's B20). It is not executed here. */
  | { kind: 'nativePrecompile'; blockNumber: bigint; index: number; reason: string }
  /** The node could not be read; it is tried again. */
  | { kind: 'unreadable'; blockNumber: bigint; reason: string }
  /** Following failed unexpectedly. The next flashblock or head starts from the canonical head again. */
  | { kind: 'failed'; reason: string }
  /** `pending` is the canonical head from now on. */
  | { kind: 'fallback' }

/** The environment of a pre-confirmed block on its parent; undefined if no rules are known for its timestamp. */
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

import type { CallOutcome, CallQueue, UpstreamCall, UpstreamFault } from '@upfront/node'
import { isMethodMissing, UpstreamError, unwrapOutcome } from '@upfront/node'
import { type BlockHeader, type Hash, toQuantity, ZERO_HASH } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'
import { headerFromRpc } from '../block/block-from-rpc.js'
import { pendingIdentity } from '../block/pending-identity.js'
import { BlockMoved, type PinnedBlock } from '../block/pinned-block.js'
import type { Engine } from '../engine/engine.js'
import { readKey, type StateRead, type StateValue } from '../engine/state.js'
import { type InFlightRead, InFlightReads, MergedReads, mergeReads, type ReadOutcome } from './in-flight-reads.js'
import type { PinnedState } from './pinned-state.js'
import { type AccountRead, type BlockReference, readCall } from './read-call.js'

/** Reads in flight for longer are not joined: the node may have recovered. */
const JOINABLE_MS = 1_000
/** How long a node without EIP-1898 is read by number. */
const BY_NUMBER_LASTS_MS = 600_000
/** Nodes keep the state of 128 blocks: the time they span with 12 s blocks. */
const RECENT_SECONDS = 1_536
const BLOCK_BYTES = 8 * 1024 * 1024
/** Attempts of a read whose state the node says it lacks, see `#attemptsAt`. */
const ATTEMPTS_SERVED = 8
const ATTEMPTS_RECENT = 5
const ATTEMPTS_OLD = 2
const MAX_BLOCKS = 1_000

/** Reads at pinned blocks: shared between requests, batched, and verified to be of that very block. */
export class StateReads {
  readonly #queue: CallQueue
  readonly #engine: Pick<Engine, 'provide' | 'missing'>
  readonly #label: string
  readonly #onWorkaround: (lacks: string) => void
  /** Reads in flight, by state and read. */
  readonly #underWay = new Map<Hash, Map<string, InFlightRead>>()
  #byNumberUntil = 0
  /** Blocks that the node served a read of, and blocks whose state it said it lacks. */
  readonly #served = new LRUCache<Hash, true>({ max: MAX_BLOCKS })
  readonly #lacking = new LRUCache<Hash, true>({ max: MAX_BLOCKS })

  /** @param engine receives values that no request waits for any more */
  constructor(
    queue: CallQueue,
    engine: Pick<Engine, 'provide' | 'missing'>,
    label: string,
    onWorkaround: (lacks: string) => void,
  ) {
    this.#queue = queue
    this.#engine = engine
    this.#label = label
    this.#onWorkaround = onWorkaround
  }

  /**
   * Reads the values, joining reads in flight. Reads that are no longer wanted before they are sent are dropped. `outcomes` rejects with
   * BlockMoved if the block can't be read at all.
   */
  ask(block: PinnedBlock, reads: readonly StateRead[]): MergedReads {
    return this.#ask(block, reads, false)
  }

  /**
   * Reads values into the engine before they are needed. Failures are ignored: the value is then read on demand.
   * @returns resolves when they arrived, never rejects; undefined if the engine has them all
   */
  askAhead({ block, key }: PinnedState, reads: readonly StateRead[]): Promise<unknown> | undefined {
    const missing = this.#engine.missing(key, reads)
    if (missing.length === 0) return undefined
    const asked = this.#ask(block, missing, true)
    return asked.outcomes.catch(() => undefined).finally(() => asked.leave())
  }

  #ask(block: PinnedBlock, reads: readonly StateRead[], ahead: boolean): MergedReads {
    const now = performance.now()
    const own = new InFlightReads(now)
    const sent: StateRead[] = []
    const places: InFlightRead[] = []
    const underWay = this.#underWay.get(block.key) ?? new Map<string, InFlightRead>()
    for (const read of reads) {
      const key = readKey(read)
      let place = underWay.get(key)
      if (place === undefined || now - place.batch.startedAt >= JOINABLE_MS) {
        place = { batch: own, index: sent.length }
        sent.push(read)
        underWay.set(key, place)
      }
      places.push(place)
    }
    if (sent.length > 0) {
      this.#underWay.set(block.key, underWay)
      own.outcomes = this.#send(block, own, sent, ahead)
    }
    return sent.length === places.length ? new MergedReads(own.outcomes, [own], 0) : mergeReads(places, own)
  }

  async #send(block: PinnedBlock, batch: InFlightReads, reads: StateRead[], ahead: boolean): Promise<ReadOutcome[]> {
    try {
      const outcomes = await this.#readAll(block, reads, () => batch.waiting > 0)
      // Otherwise the waiting request passes the values to the engine when it resumes.
      if (ahead || batch.waiting === 0) provide(this.#engine, block.key, reads, outcomes)
      return outcomes
    } finally {
      this.#landed(block.key, batch, reads)
    }
  }

  #landed(key: Hash, batch: InFlightReads, reads: readonly StateRead[]): void {
    const underWay = this.#underWay.get(key)
    if (underWay === undefined) return
    for (const read of reads) {
      const of = readKey(read)
      if (underWay.get(of)?.batch === batch) underWay.delete(of)
    }
    if (underWay.size === 0) this.#underWay.delete(key)
  }

  /**
   * Attempts for a read whose state the node says it lacks. Behind a load balancer, other nodes may have it, as one has if it answered
   * another read of the block. For an old block that none has served, retrying is hardly worth it.
   */
  #attemptsAt({ key, header }: PinnedBlock): number {
    if (this.#served.has(key)) return ATTEMPTS_SERVED
    const isRecent = Number(header.timestamp) > Date.now() / 1_000 - RECENT_SECONDS
    return isRecent ? ATTEMPTS_RECENT : this.#lacking.has(key) ? 1 : ATTEMPTS_OLD
  }

  /** How other calls refer to the block. A pending block is replaced by its parent, because nodes don't trace on pending blocks. */
  reference({ header }: PinnedBlock): BlockReference {
    return this.#readsByNumber ? toQuantity(header.number) : { blockHash: header.hash }
  }

  #readAll(block: PinnedBlock, reads: StateRead[], isWanted: () => boolean): Promise<ReadOutcome[]> {
    if (block.opening !== undefined || this.#readsByNumber || !reads.every(isAccountRead))
      return Promise.all(reads.map((read) => this.#read(block, read, isWanted).catch(asReadError)))
    return this.#readByHash(block, reads, isWanted)
  }

  async #readByHash(block: PinnedBlock, reads: AccountRead[], isWanted: () => boolean): Promise<ReadOutcome[]> {
    const outcomes = await this.#queue.sendAll(reads.map((read) => this.#byHash(block, read, isWanted)))
    if (outcomes.every(isValue)) return outcomes.map(({ value }) => value)
    return Promise.all(
      outcomes.map((outcome, index) =>
        'value' in outcome
          ? outcome.value
          : this.#readAfter(outcome.error, block, reads[index]!, isWanted).catch(asReadError),
      ),
    )
  }

  async #read(block: PinnedBlock, read: StateRead, isWanted: () => boolean): Promise<StateValue> {
    if (read.kind === 'blockHash') return this.#readBlockHash(block, read.number, isWanted)
    if (block.opening !== undefined) {
      const value = unwrapOutcome(await this.#queue.send({ ...readCall(read, 'pending'), isWanted }))
      await this.#checkPending(block)
      return value
    }
    if (this.#readsByNumber) return this.#readByNumber(block, read, isWanted)
    const [outcome] = await this.#readByHash(block, [read], isWanted)
    if (outcome instanceof UpstreamError) throw outcome
    return outcome!
  }

  /** Handles a failed read by hash. A node that fails by hash but answers by number lacks EIP-1898, whatever its error says. */
  async #readAfter(
    error: UpstreamError,
    block: PinnedBlock,
    read: AccountRead,
    isWanted: () => boolean,
  ): Promise<StateValue> {
    const { fault } = error
    if (isUnknownBlock(fault)) throw this.#blockMoved(block)
    if (isPruned(fault)) this.#lacking.set(block.key, true)
    if (fault.kind !== 'rpc-error' || isMethodMissing(fault) || isPruned(fault)) throw error
    const value = await this.#readByNumber(block, read, isWanted).catch((byNumber) => {
      throw byNumber instanceof BlockMoved ? byNumber : error
    })
    if (!this.#readsByNumber) this.#onWorkaround('EIP-1898 block hashes')
    this.#byNumberUntil = performance.now() + BY_NUMBER_LASTS_MS
    return value
  }

  #byHash(block: PinnedBlock, read: AccountRead, isWanted: () => boolean): UpstreamCall<StateValue> {
    const call = readCall(read, { blockHash: block.header.hash })
    const decode = (result: unknown) => {
      const value = call.decode(result)
      this.#served.set(block.key, true)
      return value
    }
    const { method, params, maxBytes } = call
    const retriesError = (fault: UpstreamFault) => (isPruned(fault) ? this.#attemptsAt(block) : isTemporary(fault))
    return { method, params, decode, maxBytes, isWanted, retriesError, mayHedge: true }
  }

  async #readByNumber(block: PinnedBlock, read: AccountRead, isWanted: () => boolean): Promise<StateValue> {
    const value = unwrapOutcome(
      await this.#queue.send({ ...readCall(read, toQuantity(block.header.number)), isWanted }),
    )
    await this.#checkCanonical(block)
    return value
  }

  /** Reads the hash by number, then checks that the pinned block is still canonical; if so, its ancestors are. */
  async #readBlockHash(block: PinnedBlock, number: bigint, isWanted: () => boolean): Promise<Hash> {
    const { header } = block
    if (number === header.number) return header.hash
    // With a far-ahead `blockOverrides.number`. geth returns zero there.
    if (number > header.number) return ZERO_HASH
    if (number === header.number - 1n) return header.parentHash
    const { hash } = unwrapOutcome(await this.#queue.send({ ...headerCall(number), isWanted }))
    await this.#checkCanonical(block)
    return hash
  }

  async #checkCanonical(block: PinnedBlock): Promise<void> {
    const { hash, number } = block.header
    const canonical = unwrapOutcome(await this.#queue.sendShared(`canonical ${number}`, headerCall(number)))
    if (canonical.hash !== hash) throw this.#blockMoved(block)
  }

  async #checkPending(block: PinnedBlock): Promise<void> {
    const call: UpstreamCall<Hash> = {
      method: 'eth_getBlockByNumber',
      params: ['pending', false],
      decode: pendingIdentity,
      maxBytes: BLOCK_BYTES,
    }
    const identity = unwrapOutcome(await this.#queue.sendShared('pending', call))
    if (identity !== block.key) throw new BlockMoved(this.#label, 'the pending block changed while it was read')
  }

  #blockMoved(block: PinnedBlock): BlockMoved {
    return new BlockMoved(this.#label, `block ${block.header.number} (${block.header.hash}) is no longer available`)
  }

  get #readsByNumber(): boolean {
    return this.#byNumberUntil > performance.now()
  }
}

/** Passes the values that could be read to the engine. */
export function provide(
  engine: Pick<Engine, 'provide'>,
  key: Hash,
  reads: readonly StateRead[],
  outcomes: readonly ReadOutcome[],
): void {
  const isRead = (_: unknown, index: number) => !(outcomes[index] instanceof UpstreamError)
  const [read, values] = [reads.filter(isRead), outcomes.filter(isRead) as StateValue[]]
  if (read.length > 0) engine.provide(key, read, values)
}

/** The error of a single read. @throws any other error, which concerns the whole block */
function asReadError(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  throw error
}

function headerCall(number: bigint): UpstreamCall<BlockHeader> {
  return {
    method: 'eth_getBlockByNumber',
    params: [toQuantity(number), false],
    decode: headerFromRpc,
    maxBytes: BLOCK_BYTES,
  }
}

function isValue<T>(outcome: CallOutcome<T>): outcome is { value: T } {
  return 'value' in outcome
}

function isAccountRead(read: StateRead): read is AccountRead {
  return read.kind !== 'blockHash'
}

/** Messages: geth "header not found", reth and anvil -32001, erigon and nethermind "block not found" and similar. */
function isUnknownBlock(fault: UpstreamFault): boolean {
  const { rpc } = fault.detail
  if (rpc === undefined) return false
  return (
    rpc.code === -32001 || /(header|block)( for hash)?( is)? not found|unknown block|not canonical/i.test(rpc.message)
  )
}

function refusesEip1898(fault: UpstreamFault): boolean {
  const { rpc } = fault.detail
  return (
    rpc?.code === -32602 || /unmarshal|invalid (argument|params|type|block)|expected.*string/i.test(rpc?.message ?? '')
  )
}

function isTemporary(fault: UpstreamFault): boolean {
  return !isMethodMissing(fault) && !refusesEip1898(fault)
}

function isPruned(fault: UpstreamFault): boolean {
  return /missing trie node|state .*(not|un)available|pruned|historical state/i.test(fault.detail.rpc?.message ?? '')
}

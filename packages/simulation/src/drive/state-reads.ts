import type { CallOutcome, CallQueue, UpstreamCall, UpstreamFault } from '@upfront/node'
import { isMethodMissing, settled, UpstreamError } from '@upfront/node'
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

/** An answer under way for longer is not waited for by newcomers: the node may be back by now. */
const JOINABLE_MS = 1_000
/** How long "this node does not know EIP-1898" is believed. */
const BY_NUMBER_LASTS_MS = 600_000
/** Nodes keep the state of 128 blocks: on a chain of 12 s blocks, for so long. */
const RECENT_SECONDS = 1_536
const BLOCK_BYTES = 8 * 1024 * 1024
/** Of a read whose state the node says it lacks, where another read of the block was answered, and where none was heard of. */
const ATTEMPTS_SERVED = 8
const ATTEMPTS_RECENT = 5
const ATTEMPTS_OLD = 2
const MOST_BLOCKS = 1_000

/** Reads of pinned blocks: joined, batched, and never handed out unless they are that very block's. */
export class StateReads {
  readonly #queue: CallQueue
  readonly #engine: Pick<Engine, 'provide' | 'missing'>
  readonly #label: string
  readonly #onWorkaround: (lacks: string) => void
  /** Reads under way, by state and read. */
  readonly #underWay = new Map<Hash, Map<string, InFlightRead>>()
  #byNumberUntil = 0
  /** Blocks of which a read was answered, and of which one was not, however often it was asked for. */
  readonly #served = new LRUCache<Hash, true>({ max: MOST_BLOCKS })
  readonly #lacking = new LRUCache<Hash, true>({ max: MOST_BLOCKS })

  /** @param engine keeps what nobody waits for any more when it comes */
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
   * The values, each from a read under way or from the node. What nobody waits for any more, and was not sent yet, is not sent.
   * `outcomes` reject with BlockMoved: then nothing can be read of the block.
   */
  ask(block: PinnedBlock, reads: readonly StateRead[]): MergedReads {
    return this.#ask(block, reads, false)
  }

  /**
   * Has the engine know these values before work asks for them. Only a help: what fails is read again when it is needed.
   * @returns what resolves once they came, and never rejects; undefined where the engine knows them all
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
      // Whoever waits hands the engine its values as it goes on.
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
   * How often a read is sent whose state the node says it lacks. Of nodes behind one address some may have it: those that answered another
   * read of the block do. Of an old block that none was heard to have, it is hardly worth asking for.
   */
  #attemptsAt({ key, header }: PinnedBlock): number {
    if (this.#served.has(key)) return ATTEMPTS_SERVED
    const isRecent = Number(header.timestamp) > Date.now() / 1_000 - RECENT_SECONDS
    return isRecent ? ATTEMPTS_RECENT : this.#lacking.has(key) ? 1 : ATTEMPTS_OLD
  }

  /** How calls beside reads name the block. For a pending block it is the one before: nodes don't trace on a pending one. */
  reference({ header }: PinnedBlock): BlockReference {
    return this.#byNumber ? toQuantity(header.number) : { blockHash: header.hash }
  }

  #readAll(block: PinnedBlock, reads: StateRead[], isWanted: () => boolean): Promise<ReadOutcome[]> {
    if (block.opening !== undefined || this.#byNumber || !reads.every(isAccountRead))
      return Promise.all(reads.map((read) => this.#read(block, read, isWanted).catch(errorOfOne)))
    return this.#readByHash(block, reads, isWanted)
  }

  async #readByHash(block: PinnedBlock, reads: AccountRead[], isWanted: () => boolean): Promise<ReadOutcome[]> {
    const outcomes = await this.#queue.sendAll(reads.map((read) => this.#byHash(block, read, isWanted)))
    if (outcomes.every(isValue)) return outcomes.map(({ value }) => value)
    return Promise.all(
      outcomes.map((outcome, index) =>
        'value' in outcome
          ? outcome.value
          : this.#readAfter(outcome.error, block, reads[index]!, isWanted).catch(errorOfOne),
      ),
    )
  }

  async #read(block: PinnedBlock, read: StateRead, isWanted: () => boolean): Promise<StateValue> {
    if (read.kind === 'blockHash') return this.#readBlockHash(block, read.number, isWanted)
    if (block.opening !== undefined) {
      const value = settled(await this.#queue.send({ ...readCall(read, 'pending'), isWanted }))
      await this.#checkPending(block)
      return value
    }
    if (this.#byNumber) return this.#readByNumber(block, read, isWanted)
    const [outcome] = await this.#readByHash(block, [read], isWanted)
    if (outcome instanceof UpstreamError) throw outcome
    return outcome!
  }

  /** Of a read by hash that failed. A node that fails by hash and answers by number lacks EIP-1898, whatever its words were. */
  async #readAfter(
    error: UpstreamError,
    block: PinnedBlock,
    read: AccountRead,
    isWanted: () => boolean,
  ): Promise<StateValue> {
    const { fault } = error
    if (isUnknownBlock(fault)) throw this.#gone(block)
    if (isPruned(fault)) this.#lacking.set(block.key, true)
    if (fault.kind !== 'rpc-error' || isMethodMissing(fault) || isPruned(fault)) throw error
    const value = await this.#readByNumber(block, read, isWanted).catch((byNumber) => {
      throw byNumber instanceof BlockMoved ? byNumber : error
    })
    if (!this.#byNumber) this.#onWorkaround('EIP-1898 block hashes')
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
    const retriesError = (fault: UpstreamFault) => (isPruned(fault) ? this.#attemptsAt(block) : mayPassByItself(fault))
    return { method, params, decode, maxBytes, isWanted, retriesError, mayHedge: true }
  }

  async #readByNumber(block: PinnedBlock, read: AccountRead, isWanted: () => boolean): Promise<StateValue> {
    const value = settled(await this.#queue.send({ ...readCall(read, toQuantity(block.header.number)), isWanted }))
    await this.#checkCanonical(block)
    return value
  }

  /** By number, then a look whether the pinned block is (still) canonical: then so are its ancestors. */
  async #readBlockHash(block: PinnedBlock, number: bigint, isWanted: () => boolean): Promise<Hash> {
    const { header } = block
    if (number === header.number) return header.hash
    // Asked where a call's `blockOverrides.number` is far ahead: geth knows of no hash there.
    if (number > header.number) return ZERO_HASH
    if (number === header.number - 1n) return header.parentHash
    const { hash } = settled(await this.#queue.send({ ...headerCall(number), isWanted }))
    await this.#checkCanonical(block)
    return hash
  }

  async #checkCanonical(block: PinnedBlock): Promise<void> {
    const { hash, number } = block.header
    const canonical = settled(await this.#queue.sendShared(`canonical ${number}`, headerCall(number)))
    if (canonical.hash !== hash) throw this.#gone(block)
  }

  async #checkPending(block: PinnedBlock): Promise<void> {
    const call: UpstreamCall<Hash> = {
      method: 'eth_getBlockByNumber',
      params: ['pending', false],
      decode: pendingIdentity,
      maxBytes: BLOCK_BYTES,
    }
    const identity = settled(await this.#queue.sendShared('pending', call))
    if (identity !== block.key) throw new BlockMoved(this.#label, 'the pending block moved while it was read')
  }

  #gone(block: PinnedBlock): BlockMoved {
    return new BlockMoved(this.#label, `block ${block.header.number} (${block.header.hash}) is no longer there`)
  }

  get #byNumber(): boolean {
    return this.#byNumberUntil > performance.now()
  }
}

/** Gives the engine what could be read. */
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

/** Why one read failed. @throws what says that nothing can be read of the block */
function errorOfOne(error: unknown): UpstreamError {
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

/** geth "header not found", reth and anvil -32001, erigon and nethermind "block not found" and the like. */
function isUnknownBlock(fault: UpstreamFault): boolean {
  const { rpc } = fault.detail
  if (rpc === undefined) return false
  return (
    rpc.code === -32001 || /(header|block)( for hash)?( is)? not found|unknown block|not canonical/i.test(rpc.message)
  )
}

function looksLikeNoEip1898(fault: UpstreamFault): boolean {
  const { rpc } = fault.detail
  return (
    rpc?.code === -32602 || /unmarshal|invalid (argument|params|type|block)|expected.*string/i.test(rpc?.message ?? '')
  )
}

function mayPassByItself(fault: UpstreamFault): boolean {
  return !isMethodMissing(fault) && !looksLikeNoEip1898(fault)
}

function isPruned(fault: UpstreamFault): boolean {
  return /missing trie node|state .*(not|un)available|pruned|historical state/i.test(fault.detail.rpc?.message ?? '')
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { CallLimits, CallOutcome, UpstreamCall, UpstreamClient } from '@upfront/node'
import {
  type Awaitable,
  andThen,
  type Cancellation,
  catchError,
  UpstreamError,
  UpstreamFault,
  withinLimits,
} from '@upfront/node'
import { type BlockHeader, type BlockParameter, ErrorCode, type Hash, RpcError, toQuantity } from '@upfront/protocol'
import {
  BlockMoved,
  type NodePendingBlock,
  type PinnedBlock,
  pendingFromRpc,
  pendingIdentity,
} from '@upfront/simulation'
import { LRUCache } from 'lru-cache'
import { HeaderCheck } from './header-check.js'
import { blockCall, type FollowedHead, type NodeHead, noAnswer } from './node-head.js'
import { runSpeculatively } from './run-speculatively.js'
import { SharedLookup } from './shared-lookup.js'

/** How often a node must answer "no such block", while it answers otherwise, before it is believed. */
const UNKNOWN_VERDICTS = 2
const UNKNOWN_ATTEMPTS = 6
const UNKNOWN_PAUSE_MS = 30
const PENDING_ATTEMPTS = 7
const PENDING_PAUSE_MS = 20
const LOOKUP_TIMEOUT_MS = 12_000
/** A head seen longer ago is not used as a guess. */
const MAX_GUESS_AGE_MS = 5_000
/** How often work is restarted because its block moved. */
const MAX_RUNS = 10

type HashParameter = Extract<BlockParameter, { kind: 'hash' }>

interface PendingAnswer {
  block: NodePendingBlock
  identity: Hash
}

/** There is no such block. The message is that of geth's `eth_` methods. */
export class UnknownBlock extends RpcError {
  constructor(readonly parameter: BlockParameter) {
    super(ErrorCode.serverError, unknownBlockMessage(parameter))
  }
}

/** Resolves block parameters to blocks and pins them. */
export class BlockResolver {
  readonly #client: UpstreamClient
  readonly #head: NodeHead
  readonly #pending: SharedLookup<PinnedBlock>
  readonly #lookups = new LRUCache<string, SharedLookup<BlockHeader>>({ max: 1_000 })
  readonly #latestOnce: UpstreamCall<BlockHeader>
  readonly #check: HeaderCheck
  readonly #followed: FollowedHead | undefined

  /**
   * @param head asks the node for its head
   * @param followed without it, every request asks the node for `latest`
   * @param check verifies the hashes of headers
   */
  constructor(client: UpstreamClient, head: NodeHead, followed?: FollowedHead, check = new HeaderCheck()) {
    this.#client = client
    this.#check = check
    this.#latestOnce = { ...blockCall('latest', check), attempts: 1 }
    this.#head = head
    this.#followed = followed
    this.#pending = new SharedLookup(() => this.#askPending())
  }

  /**
   * The followed head, or the node's if none is followed.
   * @throws UpstreamError, or the signal's reason
   */
  head(limits: CallLimits = {}): Awaitable<BlockHeader> {
    return this.#followed?.current()?.header ?? this.askHead(limits)
  }

  /**
   * The node's head as of the call, or at most 5 ms older under load.
   * @throws UpstreamError, or the signal's reason
   */
  askHead(limits: CallLimits = {}): Awaitable<BlockHeader> {
    return this.#head.get(limits)
  }

  /** The last seen head, if it was seen less than half a block interval ago and is therefore probably still the head. */
  #likelyHead(): PinnedBlock | undefined {
    const header = this.#head.recent(
      Math.min(MAX_GUESS_AGE_MS, (this.#followed?.intervalMs ?? Number.POSITIVE_INFINITY) / 2),
    )
    return header === undefined ? undefined : pin(header)
  }

  /**
   * Resolves the parameter and does the work on that block. Repeats it if the block moves in the meantime (a reorganisation, or a new
   * pending block). While the node is asked for the head, the work already starts on the last seen one, which nearly always is still the
   * head. If it is not, that work is cancelled and repeated on the new head.
   * @param known called with the block of the final result, once it is certain
   * @throws what `resolve` or `work` throws
   */
  onBlock<T>(
    parameter: BlockParameter,
    limits: CallLimits & Cancellation,
    work: (block: PinnedBlock, cancellation: Cancellation) => Awaitable<T>,
    known: (block: PinnedBlock) => void = () => undefined,
    run = 1,
  ): Awaitable<T> {
    const workOn = (block: PinnedBlock) => {
      known(block)
      return work(block, limits)
    }
    return catchError(
      () => {
        const isHead = parameter.kind === 'tag' && parameter.tag === 'latest'
        const block = run > 1 ? this.#resolveAtNode(parameter, limits) : this.resolve(parameter, limits)
        if (!(block instanceof Promise)) return workOn(block)
        const guess = isHead && run === 1 ? this.#likelyHead() : undefined
        if (guess === undefined) return block.then(workOn)
        return runSpeculatively(guess, block, limits, work, known)
      },
      (error) => {
        if (!(error instanceof BlockMoved) || parameter.kind === 'hash' || run === MAX_RUNS) throw error
        limits.signal.throwIfAborted()
        return this.onBlock(parameter, limits, work, known, run + 1)
      },
    )
  }

  /** @throws RpcError -32000 if there is no such block; UpstreamError; the signal's reason */
  resolve(parameter: BlockParameter, limits: CallLimits = {}): Awaitable<PinnedBlock> {
    if (parameter.kind === 'hash') return this.#resolveHash(parameter, limits)
    if (parameter.kind === 'number')
      return andThen(this.#followed?.header(parameter.number) ?? this.#lookUp(parameter, limits), pin)
    if (parameter.tag === 'pending') return withinLimits(this.#pending.get(), limits, this.#onTimeout)
    if (parameter.tag !== 'latest') return andThen(this.#lookUp(parameter, limits), pin)
    return this.#followed?.current() ?? andThen(this.askHead(limits), pin)
  }

  /** Skips followed blocks, which have moved. */
  #resolveAtNode(parameter: BlockParameter, limits: CallLimits): Awaitable<PinnedBlock> {
    if (parameter.kind === 'number') return andThen(this.#lookUp(parameter, limits), pin)
    const isHead = parameter.kind === 'tag' && parameter.tag === 'latest'
    return isHead ? andThen(this.askHead(limits), pin) : this.resolve(parameter, limits)
  }

  async #resolveHash(parameter: HashParameter, limits: CallLimits): Promise<PinnedBlock> {
    const known = this.#head.known.get(parameter.hash) ?? this.#followed?.header(parameter.hash)
    const header = known ?? (await this.#lookUp(parameter, limits))
    if (parameter.requireCanonical) await this.#checkCanonical(header, limits)
    return pin(header)
  }

  #lookUp(parameter: BlockParameter, limits: CallLimits): Awaitable<BlockHeader> {
    const key = describe(parameter)
    let lookup = this.#lookups.get(key)
    if (lookup === undefined) {
      lookup = new SharedLookup(() => this.#remember(this.#fetch(parameter)))
      this.#lookups.set(key, lookup)
    }
    return withinLimits(lookup.get(), limits, this.#onTimeout)
  }

  async #checkCanonical(header: BlockHeader, limits: CallLimits): Promise<void> {
    const { number } = header
    const canonical = this.#followed?.header(number) ?? (await this.#lookUp({ kind: 'number', number }, limits))
    if (canonical.hash !== header.hash) throw new RpcError(ErrorCode.serverError, 'hash is not currently canonical')
  }

  /**
   * A healthy node returns null only for a block that it lacks, a broken one also for blocks that it has. Its head, asked for in the same
   * request, tells them apart.
   */
  async #fetch(parameter: BlockParameter): Promise<BlockHeader> {
    const call = blockCall(nodeParameter(parameter), this.#check)
    const once: UpstreamCall<BlockHeader> = { ...call, attempts: 1 }
    const deadline = performance.now() + LOOKUP_TIMEOUT_MS
    let verdicts = 0
    let failure: UpstreamError | undefined
    for (let attempt = 1; attempt <= UNKNOWN_ATTEMPTS && performance.now() < deadline; attempt += 1) {
      if (attempt > 1) await sleep(UNKNOWN_PAUSE_MS * attempt)
      const [wanted, head] = (await this.#client.batch([once, this.#latestOnce], {
        deadline,
      })) as [CallOutcome<BlockHeader>, CallOutcome<BlockHeader>]
      if ('value' in wanted) return this.#checkAnswer(parameter, wanted.value)
      failure = wanted.error
      if (!isUnknownBlock(wanted.error.fault) || 'error' in head) continue
      if (parameter.kind === 'number' && parameter.number <= head.value.number) continue
      verdicts += 1
      if (verdicts === UNKNOWN_VERDICTS) throw new UnknownBlock(parameter)
    }
    throw failure!
  }

  #checkAnswer(parameter: BlockParameter, header: BlockHeader): BlockHeader {
    const wrong =
      (parameter.kind === 'hash' && header.hash !== parameter.hash) ||
      (parameter.kind === 'number' && header.number !== parameter.number)
    if (!wrong) return header
    const fault = new UpstreamFault('malformed', `requested ${describe(parameter)}, got block ${header.number}`)
    throw new UpstreamError(fault, this.#client.label, 'eth_getBlockBy…', 1)
  }

  /** Both blocks come from one answer, so that a temporary failure is not mistaken for the lack of a pending block. */
  async #askPending(): Promise<PinnedBlock> {
    const deadline = performance.now() + LOOKUP_TIMEOUT_MS
    for (let attempt = 1; ; attempt += 1) {
      const [pending, latest] = (await this.#client.batch<PendingAnswer | BlockHeader>(
        [PENDING_CALL, this.#latestOnce],
        {
          deadline,
        },
      )) as [CallOutcome<PendingAnswer>, CallOutcome<BlockHeader>]
      const failure = 'error' in latest ? latest.error : failureOf(pending)
      if (failure === undefined && 'value' in latest) return this.#pinPending(pending, latest.value)
      if (attempt === PENDING_ATTEMPTS || performance.now() >= deadline) throw failure!
      await sleep(PENDING_PAUSE_MS * 2 ** attempt)
    }
  }

  async #pinPending(pending: CallOutcome<PendingAnswer>, head: BlockHeader): Promise<PinnedBlock> {
    this.#head.known.set(head.hash, head)
    if ('error' in pending || pending.value.block.number <= head.number) return pin(head)
    const { block, identity } = pending.value
    const parent = block.parentHash === head.hash ? head : await this.#parent(block)
    return parent === undefined ? pin(head) : { header: parent, opening: block.environment, key: identity }
  }

  async #parent(pending: NodePendingBlock): Promise<BlockHeader | undefined> {
    const known = this.#head.known.get(pending.parentHash)
    if (known !== undefined) return known
    const [outcome] = await this.#client.batch([
      { ...blockCall({ hash: pending.parentHash }, this.#check), attempts: 3 },
    ])
    return 'value' in outcome! ? outcome.value : undefined
  }

  async #remember(asked: Promise<BlockHeader>): Promise<BlockHeader> {
    const header = await asked
    this.#head.known.set(header.hash, header)
    return header
  }

  readonly #onTimeout = (): Error => noAnswer(this.#client.label)
}

function pin(header: BlockHeader): PinnedBlock {
  return { header, key: header.hash }
}

const PENDING_CALL: UpstreamCall<PendingAnswer> = {
  ...blockCall('pending'),
  decode: (result) => ({ block: pendingFromRpc(result), identity: pendingIdentity(result) }),
  attempts: 1,
}

/** A node without a pending block returns null or an error that says so; neither is a failure. */
function failureOf(pending: CallOutcome<PendingAnswer>): UpstreamError | undefined {
  if ('value' in pending) return undefined
  const { kind } = pending.error.fault
  return kind === 'null' || kind === 'rpc-error' ? undefined : pending.error
}

function nodeParameter(parameter: BlockParameter): string | { hash: Hash } {
  return parameter.kind === 'hash' ? { hash: parameter.hash } : describe(parameter)
}

function unknownBlockMessage(parameter: BlockParameter): string {
  if (parameter.kind === 'hash') return 'header for hash not found'
  return parameter.kind === 'tag' ? `${parameter.tag} block not found` : 'header not found'
}

function describe(parameter: BlockParameter): string {
  if (parameter.kind === 'hash') return parameter.hash
  return parameter.kind === 'tag' ? parameter.tag : toQuantity(parameter.number)
}

function isUnknownBlock(fault: UpstreamFault): boolean {
  return fault.kind === 'null' || /not found|unknown block|out of range/i.test(fault.detail.rpc?.message ?? '')
}

import {
  type Awaitable,
  type CallLimits,
  type CallQueue,
  type Cancellation,
  raceAbort,
  type UpstreamClient,
} from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import {
  BlockMoved,
  type CarryEvent,
  type ChainRules,
  type ChainRulesOptions,
  type PinnedBlock,
  pendingBlock,
  type SealedBlock,
} from '@upfront/simulation'
import { AnnouncedBlocks } from './announce/announced-blocks.js'
import { BlockLogs, BlockReceipts } from './blocks/block-contents.js'
import { type FollowedBlock, followedBlock, indexesOf, weightOf } from './blocks/followed-block.js'
import { HeadFollower } from './follow/head-follower.js'
import type { FollowMode, HeadEvent } from './follow/head-follower-options.js'
import type { ChainChange } from './follow/kept-blocks.js'
import { RecentHeads } from './follow/recent-heads.js'
import type { Relay } from './follow/relay.js'
import { StateCarrying, type StateCarryingOptions } from './follow/state-carrying.js'
import { BlockResolver } from './head/block-resolver.js'
import { HeadAgreement } from './head/head-agreement.js'
import { HeaderCheck } from './head/header-check.js'
import { NodeHead } from './head/node-head.js'
import { ServedRules } from './head/served-rules.js'
import type { Straying } from './head/straying.js'

const RULES_TIMEOUT_MS = 5_000
const BLOCK_TIMEOUT_MS = 5_000

/** Receives events of the chain for logs and metrics. */
export interface ChainObserver {
  head(event: HeadEvent): void
  carry(event: CarryEvent): void
  /** A node's head begins to disagree with the other nodes' heads, or agrees again. */
  straying(upstream: string, strays: Straying | undefined): void
  /** The rules of the chain became known, or now come from another source. */
  rules(rules: ChainRules): void
}

export interface ChainOptions extends Omit<StateCarryingOptions, 'observe'> {
  client: UpstreamClient
  queue: CallQueue
  follow: FollowMode
  /** WebSocket URLs of nodes that announce heads. */
  urls: readonly string[]
  /** `auto` stops following after this time without a request. */
  idleMs: number
  /** Rules given by configuration. */
  rules: ChainRulesOptions
  /** Connects the replicas that follow the chain with this id. */
  relay?: (chainId: () => Promise<bigint>) => Relay | undefined
  observer: ChainObserver
}

type ChangeListener = (change: ChainChange<FollowedBlock>) => void

/** The served chain as one stream of blocks: each is fetched once, has the engine's state carried over it, and is reported in order. */
export class Chain {
  readonly head: HeadFollower<FollowedBlock>
  readonly resolver: BlockResolver
  readonly announced: AnnouncedBlocks
  readonly logs: BlockLogs
  readonly receipts: BlockReceipts
  readonly agreement: HeadAgreement
  readonly carrying: StateCarrying
  readonly recent = new RecentHeads()
  readonly #asked: NodeHead
  readonly #rules: ServedRules
  readonly #headers = new HeaderCheck()
  readonly #listeners = new Set<ChangeListener>()
  readonly #options: ChainOptions

  constructor(options: ChainOptions) {
    this.#options = options
    const { client, queue, observer } = options
    this.#rules = new ServedRules(client, options.rules, (rules) => observer.rules(rules))
    const observe = (event: CarryEvent) => {
      observer.carry(event)
      this.recent.noteCarry(event)
    }
    this.carrying = new StateCarrying(
      { ...options, observe },
      this.#rules,
      this.#headers,
      () => this.head.status().intervalMs,
    )
    this.head = new HeadFollower<FollowedBlock>({
      weigh: weightOf,
      relay: options.relay?.(() => this.chainId()),
      mode: options.follow,
      urls: options.urls,
      chainId: () => this.knownChainId,
      idleMs: options.idleMs,
      askHead: (limits) => this.#asked.get(limits),
      byHash: (hash, limits) => this.#block(hash, limits),
      byNumber: (number, limits) => this.#block(number, limits),
      prepare: (block, parent) => this.carrying.prepare(block, parent),
      observe: (event) => {
        observer.head(event)
        if (event.kind === 'head') this.recent.noteHead(event)
      },
      onChange: (change) => {
        for (const listener of [...this.#listeners]) listener(change)
      },
    })
    this.#asked = new NodeHead(client, queue, this.head, this.#headers)
    this.resolver = new BlockResolver(client, this.#asked, this.head, this.#headers)
    this.agreement = new HeadAgreement(
      client,
      () => this.head.intervalMs,
      (upstream, strays) => observer.straying(upstream, strays),
    )
    this.logs = new BlockLogs(queue)
    this.receipts = new BlockReceipts(queue)
    this.announced = new AnnouncedBlocks(this, (reason) => observer.head({ kind: 'untold', reason }))
  }

  /** @throws or rejects with UpstreamError, ChainMismatch, or the signal's reason */
  rules(cancellation: Cancellation): Awaitable<ChainRules> {
    return this.#rules.get(cancellation)
  }

  /** @throws as {@link rules}, after 5 s at the latest */
  async chainId(): Promise<bigint> {
    return (await this.rules({ signal: AbortSignal.timeout(RULES_TIMEOUT_MS) })).chainId
  }

  /** Undefined while it is unknown. */
  get knownChainId(): bigint | undefined {
    return this.#rules.known?.chainId
  }

  /** Whether reads may be answered from held state: the head is followed, and only blocks change the state. */
  get answersReads(): boolean {
    return this.#options.follow !== 'off' && this.carrying.changesOnlyByBlocks
  }

  /**
   * The followed block with this hash.
   * @returns undefined if the node does not serve it
   * @throws or rejects with the signal's reason
   */
  async sealed(hash: Hash, cancellation: Cancellation): Promise<FollowedBlock | undefined> {
    const kept = this.head.kept.get(hash)
    if (kept !== undefined) return kept
    // Other requests may wait for this block too, so the fetch is not tied to one of them.
    const limits = { deadline: performance.now() + BLOCK_TIMEOUT_MS }
    return raceAbort(
      this.head.block(hash, limits).catch(() => undefined),
      cancellation.signal,
    )
  }

  /**
   * The block with full transactions, followed or not.
   * @returns undefined if the node does not serve it
   * @throws or rejects with UpstreamError, or the signal's reason
   */
  async whole(hash: Hash, limits: CallLimits): Promise<FollowedBlock | undefined> {
    const kept = this.head.kept.get(hash)
    if (kept?.isWhole) return kept
    return this.#options.client.call(followedBlock(hash, true, this.#headers), limits)
  }

  /**
   * The node's own pending block with its transactions, as if it were sealed.
   * @throws or rejects with UpstreamError, BlockMoved if the node has another pending block by now, or the signal's reason
   */
  async pending({ key }: PinnedBlock, limits: CallLimits): Promise<SealedBlock> {
    const { client } = this.#options
    const block = await client.call(pendingBlock(key), limits)
    if (block === undefined) throw new BlockMoved(client.label, 'the pending block changed while it was read')
    return block
  }

  /** Finds a transaction among the kept blocks of the chain. Undefined if it is not there, or if the node must be asked instead. */
  find(transaction: Hash): { block: FollowedBlock; index: number } | undefined {
    const head = this.head.current()?.header
    if (!this.answersReads || head === undefined) return undefined
    for (const block of this.head.kept.newestFirst(head)) {
      const index = indexesOf(block).get(transaction)
      if (index !== undefined) return { block, index }
    }
    return undefined
  }

  /** The newest followed block; undefined before the first. */
  get tip(): FollowedBlock | undefined {
    const { tip } = this.head.kept
    return tip && this.head.kept.get(tip.hash)
  }

  /**
   * Follows the head from now on, and calls back with each new head and the blocks that it adds and removes.
   * @returns a function that stops listening
   */
  listen(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    const rest = this.head.keepFollowing()
    return () => {
      this.#listeners.delete(listener)
      rest()
    }
  }

  /** Call it once nothing is in flight. */
  close(): void {
    this.announced.close()
    this.agreement.close()
    this.head.close()
    this.carrying.close()
  }

  /** Asks for full transactions only if the block will be executed. */
  async #block(at: Hash | bigint, limits: CallLimits): Promise<FollowedBlock | undefined> {
    return this.#options.client.call(followedBlock(at, await this.carrying.mayCarry(limits), this.#headers), limits)
  }
}

import { Inject, Injectable } from '@nestjs/common'
import { AskedHead, HeaderCheck, HeadFollower } from '@upfront/chain'
import {
  type Awaitable,
  type CallLimits,
  CallQueue,
  type Cancellation,
  isMethodMissing,
  type UpstreamCall,
  UpstreamClient,
  UpstreamError,
  unlessAborted,
} from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import {
  AccessLists,
  type BlockCarrier,
  type CarryEvent,
  type CarryStatus,
  type ChainRules,
  Driver,
  type ExecutedPart,
  type SealedBlock,
  StateCarrier,
} from '@upfront/simulation'
import { Environment } from '../environment/environment.js'
import { FIXED } from '../environment/fixed.js'
import type { RedisRelay } from '../replicas/redis-relay.js'
import { SharedRedis } from '../replicas/shared-redis.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { ENGINE, type EngineChoice } from './engine-choice.js'
import { type FollowedBlock, followedBlock, indexesOf, weightOf } from './followed-block.js'
import { RecentHeads } from './recent-heads.js'
import { relayOver } from './relay-over.js'
import { ServedChain } from './served-chain.js'

const RULES_TIMEOUT_MS = 5_000
const BLOCK_TIMEOUT_MS = 5_000
/** Nodes whose own methods change the state without a block (`anvil_setBalance`, `hardhat_setCode`): no header tells of it. */
const DEVELOPMENT_NODE = /^(anvil|hardhat|edr|ganache|ethereumjs)/i

type HeadListener = (block: FollowedBlock, reorganised: boolean) => void

/** Follows the head of the chain that is served, and carries the engine's state along. */
@Injectable()
export class FollowedChain {
  readonly head: HeadFollower<FollowedBlock>
  readonly asked: AskedHead
  /** Where replicas share a Redis. */
  readonly relay: RedisRelay | undefined
  readonly recent = new RecentHeads()
  readonly headers = new HeaderCheck()
  /** What a stream brought of a block that is sealed now: it need not be executed again. Set by who follows a stream. */
  executedPart: (header: BlockHeader, transactions: readonly Hash[]) => ExecutedPart | undefined = () => undefined
  private readonly listeners = new Set<HeadListener>()
  private readonly engine: BlockCarrier
  private carrier: { rules: ChainRules; carrier: StateCarrier } | undefined
  private closed = false
  /** Whether blocks alone change the state; undefined until the node has said what it is. */
  private byBlocksAlone: boolean | undefined

  constructor(
    private readonly environment: Environment,
    private readonly client: UpstreamClient,
    queue: CallQueue,
    private readonly driver: Driver,
    private readonly served: ServedChain,
    shared: SharedRedis,
    private readonly telemetry: Telemetry,
    @Inject(ENGINE) { engine }: EngineChoice,
  ) {
    this.engine = engine
    this.relay = relayOver(shared, served, 'heads')
    this.head = new HeadFollower<FollowedBlock>({
      weigh: weightOf,
      relay: this.relay,
      mode: environment.FOLLOW_HEAD,
      urls: environment.UPSTREAM_WS_URL ?? [],
      idleMs: FIXED.followIdleMs,
      askHead: (limits) => this.asked.get(limits),
      byHash: (hash, limits) => this.block(hash, limits),
      byNumber: (number, limits) => this.block(number, limits),
      prepare: (block, parent) => this.prepare(block, parent),
      observe: (event) => {
        telemetry.tell(`head.${event.kind}`, event)
        if (event.kind === 'head') this.recent.noteHead(event)
      },
      taken: (block, reorganised) => {
        for (const listener of this.listeners) listener(block, reorganised)
      },
    })
    this.asked = new AskedHead(client, queue, this.head, this.headers)
    telemetry.show('head', () => this.head.status())
    telemetry.show('carry', () => this.carryStatus())
  }

  /** Absent where no block was followed yet. */
  carryStatus(): CarryStatus | undefined {
    return this.carrier?.carrier.status()
  }

  /** Why no state is carried from block to block; undefined where it may be. */
  whyNotCarried(): string | undefined {
    const { environment } = this
    if (environment.CARRY_STATE === 'off') return 'CARRY_STATE=off'
    const isDevelopment = environment.CARRY_STATE === 'auto' && this.byBlocksAlone === false
    return isDevelopment ? 'the node is a development node, whose state changes without blocks' : undefined
  }

  /**
   * Whether reads are answered from what is held here: the head is followed, and nothing but blocks changes the state, or `CARRY_STATE=on` says
   * that it is so.
   */
  get answersReads(): boolean {
    const { FOLLOW_HEAD, CARRY_STATE } = this.environment
    return FOLLOW_HEAD !== 'off' && (CARRY_STATE === 'on' || this.byBlocksAlone === true)
  }

  /**
   * The head: the followed one or, where it can't be vouched for, the node's.
   * @throws or rejects with UpstreamError, or the signal's reason
   */
  newest(limits: CallLimits): Awaitable<BlockHeader> {
    return this.head.current()?.header ?? this.asked.get(limits)
  }

  /**
   * The followed block with this hash; undefined where the node does not serve it.
   * @throws or rejects with the signal's reason
   */
  async sealed(hash: Hash, { signal }: Cancellation): Promise<FollowedBlock | undefined> {
    const kept = this.head.kept.get(hash)
    if (kept !== undefined) return kept
    // Others may wait for it too: it is not tied to one request.
    const limits = { deadline: performance.now() + BLOCK_TIMEOUT_MS }
    return unlessAborted(
      this.head.block(hash, limits).catch(() => undefined),
      signal,
    )
  }

  /**
   * The block with its transactions, whether it was followed or not; undefined where the node does not serve it.
   * @throws or rejects with UpstreamError, or the signal's reason
   */
  async whole(hash: Hash, limits: CallLimits): Promise<FollowedBlock | undefined> {
    const kept = this.head.kept.get(hash)
    if (kept?.isWhole) return kept
    return this.client.call(followedBlock(hash, true, this.headers), limits)
  }

  /** Where a transaction stands in the chain up to the head, as far as it is kept; undefined while the node must be asked for the head. */
  find(transaction: Hash): { block: FollowedBlock; index: number } | undefined {
    if (!this.answersReads || this.head.current() === undefined) return undefined
    for (const block of this.head.kept.newestFirst()) {
      const index = indexesOf(block).get(transaction)
      if (index !== undefined) return { block, index }
    }
    return undefined
  }

  /** Calls back with each head that requests may stand on, and whether it takes blocks back. @returns what ends it */
  onHead(listener: HeadListener): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Nest's hook, once nothing is in flight. */
  onApplicationShutdown(): void {
    this.closed = true
    this.head.close()
    this.carrier?.carrier.close()
  }

  /** Its transactions only where it is executed. */
  private async block(at: Hash | bigint, limits: CallLimits): Promise<FollowedBlock | undefined> {
    return this.client.call(followedBlock(at, await this.mayCarry(limits), this.headers), limits)
  }

  private async prepare(block: SealedBlock, parent: BlockHeader | undefined): Promise<void> {
    const limits = { signal: AbortSignal.timeout(RULES_TIMEOUT_MS) }
    if (!(await this.mayCarry(limits))) return
    if (!this.headers.isSure(block.header)) {
      const detail = 'its hash is not that of its fields'
      this.noteCarry({ kind: 'notCarried', header: block.header, reason: 'undecodable', detail, isFirst: false })
      return
    }
    const rules = await this.served.rules(limits)
    if (this.closed) return
    const isDistrusted = this.carryStatus()?.pace === 'distrusted'
    if (this.carrier === undefined || (this.carrier.rules !== rules && !isDistrusted)) {
      this.carrier?.carrier.close()
      this.carrier = { rules, carrier: this.carrierWith(rules) }
    }
    await this.carrier.carrier.prepare(block, parent && { header: parent })
  }

  /** False until `web3_clientVersion` was answered. A node that lacks that method is no development node. */
  private async mayCarry(limits: CallLimits): Promise<boolean> {
    const { CARRY_STATE: setting } = this.environment
    if (setting === 'on') return true
    const isByBlocksAlone = await this.isByBlocksAlone(limits)
    return setting === 'auto' && isByBlocksAlone
  }

  private async isByBlocksAlone(limits: CallLimits): Promise<boolean> {
    const asked: UpstreamCall<boolean> = {
      method: 'web3_clientVersion',
      params: [],
      decode: (version) => typeof version === 'string' && !DEVELOPMENT_NODE.test(version),
      maxBytes: 1_024,
      attempts: 1,
    }
    this.byBlocksAlone ??= await this.client.call(asked, limits).catch((error) => {
      const isMissing = error instanceof UpstreamError && isMethodMissing(error.fault)
      return isMissing ? true : undefined
    })
    return this.byBlocksAlone ?? false
  }

  private carrierWith(rules: ChainRules): StateCarrier {
    const { engine, driver, head, environment, client } = this
    return new StateCarrier({
      ...{ rules, engine, driver },
      auditEveryMs: FIXED.carryAuditMs,
      // Who sets it on vouches for the node.
      auditsFirst: environment.CARRY_STATE === 'auto',
      intervalMs: () => head.status().intervalMs,
      accessLists: new AccessLists(client),
      executed: ({ header }, transactions) => this.executedPart(header, transactions),
      observe: (event) => this.noteCarry(event),
    })
  }

  private noteCarry(event: CarryEvent): void {
    this.telemetry.tell(`carry.${event.kind}`, event)
    this.recent.noteCarry(event)
  }
}

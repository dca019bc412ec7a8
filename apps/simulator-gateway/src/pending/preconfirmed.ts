import { Inject, Injectable } from '@nestjs/common'
import { FlashblocksFollower, type FollowerStatus, type PreconfirmedSnapshot } from '@upfront/chain'
import { recovered } from '@upfront/node'
import { type ChainRules, Driver, type PreconfirmationExecutor } from '@upfront/simulation'
import { ENGINE, type EngineChoice } from '../chain/engine-choice.js'
import { type FollowedBlock, transactionHashes } from '../chain/followed-block.js'
import { FollowedChain } from '../chain/followed-chain.js'
import { relayOver } from '../chain/relay-over.js'
import { ServedChain } from '../chain/served-chain.js'
import { Environment } from '../environment/environment.js'
import { FIXED } from '../environment/fixed.js'
import type { RedisRelay } from '../replicas/redis-relay.js'
import { SharedRedis } from '../replicas/shared-redis.js'
import { Telemetry } from '../telemetry/telemetry.js'
import type { RequestView } from './request-view.js'
import { StreamFaults } from './stream-faults.js'

const RULES_TIMEOUT_MS = 5_000
const EXECUTION_TIMEOUT_MS = 10_000
const START_RETRY_MS = 1_000

/** The pre-confirmed chain, where `FLASHBLOCKS_WS_URL` names a stream of it. */
@Injectable()
export class Preconfirmed {
  /** Where replicas share a Redis. */
  readonly relay: RedisRelay | undefined
  /** What was wrong with the stream lately. */
  readonly faults = new StreamFaults()
  private follower: FlashblocksFollower | undefined
  private closed = false
  private leave: () => void = () => undefined
  private readonly listeners = new Set<(snapshot: PreconfirmedSnapshot) => void>()
  private readonly executor: PreconfirmationExecutor | undefined

  constructor(
    private readonly environment: Environment,
    private readonly driver: Driver,
    private readonly served: ServedChain,
    private readonly telemetry: Telemetry,
    private readonly followed: FollowedChain,
    shared: SharedRedis,
    @Inject(ENGINE) choice: EngineChoice,
  ) {
    if (!environment.FLASHBLOCKS_WS_URL) return
    this.executor = choice.engine
    this.relay = relayOver(shared, served, 'flashblocks')
    telemetry.show('preconfirmed', () => this.status())
    followed.executedPart = (header, transactions) => this.follower?.executed(header, transactions)
  }

  onApplicationBootstrap(): void {
    const { executor, environment } = this
    if (executor && environment.FLASHBLOCKS_WS_URL) void this.follow(executor, environment.FLASHBLOCKS_WS_URL)
  }

  /** Whether a stream is followed at all: without one `pending` is the node's. */
  get enabled(): boolean {
    return this.environment.FLASHBLOCKS_WS_URL !== undefined
  }

  /** What `pending` is for this request; absent where it is the canonical head. */
  snapshotFor(view: RequestView): PreconfirmedSnapshot | undefined {
    view.snapshot ??= this.follower?.current() ?? 'none'
    return view.snapshot === 'none' ? undefined : view.snapshot
  }

  /** Calls back with what `pending` is, whenever that is another snapshot. @returns what ends it */
  onSnapshot(listener: (snapshot: PreconfirmedSnapshot) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Absent where no stream is followed. */
  status(): FollowerStatus | undefined {
    return this.enabled ? (this.follower?.status() ?? { connected: false }) : undefined
  }

  /** Nest's hook, once nothing is in flight. */
  onApplicationShutdown(): void {
    this.closed = true
    this.leave()
    this.follower?.close()
  }

  private async follow(executor: PreconfirmationExecutor, urls: string[]): Promise<void> {
    const rules = await recovered<ChainRules | Error>(
      () => this.served.rules({ signal: AbortSignal.timeout(RULES_TIMEOUT_MS) }),
      (error) => error as Error,
    )
    if (this.closed) return
    if (rules instanceof Error) {
      this.telemetry.tell('preconfirmed.head-unknown', { kind: 'head-unknown', reason: rules.message })
      setTimeout(() => void this.follow(executor, urls), START_RETRY_MS)
      return
    }
    const { driver, environment, followed } = this
    const follower = new FlashblocksFollower({
      urls,
      relay: this.relay,
      rules,
      executor,
      driver,
      silenceMs: environment.FLASHBLOCKS_SILENCE_MS,
      maxMessageBytes: FIXED.flashblockBytes,
      onParent: (number) => followed.head.hear(number),
      executionTimeoutMs: EXECUTION_TIMEOUT_MS,
      observe: (event) => {
        this.faults.note(event)
        this.telemetry.tell(`preconfirmed.${event.kind}`, event)
        if (event.kind === 'connected' || event.kind === 'lost') followed.head.isStreamed = event.kind === 'connected'
      },
      onSnapshot: (snapshot) => {
        for (const listener of this.listeners) listener(snapshot)
      },
    })
    this.follower = follower
    const onHead = (block: FollowedBlock, reorganised: boolean) =>
      follower.onHead({ header: block.header, transactionHashes: transactionHashes(block), reorganised })
    const [known] = followed.head.kept.newestFirst()
    if (known !== undefined) onHead(known, false)
    const unlisten = followed.onHead(onHead)
    const rest = followed.head.keepFollowing()
    this.leave = () => {
      unlisten()
      rest()
    }
  }
}

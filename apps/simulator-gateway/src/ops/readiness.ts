import { Inject, Injectable } from '@nestjs/common'
import { Chain, type FollowMode, Preconfirmed, type RecentHead, type Straying, type StreamFault } from '@upfront/chain'
import type { CircuitState } from '@upfront/node'
import { RpcError } from '@upfront/protocol'
import { Readiness } from '@upfront/service'
import { type CarryPace, ChainMismatch } from '@upfront/simulation'
import { ENGINE, type EngineChoice } from '../environment/engine-choice.js'
import { Environment } from '../environment/environment.js'
import type { Role } from '../replicas/lease.js'
import { SharedRedis } from '../replicas/shared-redis.js'

const PROBE_TIMEOUT_MS = 3_000
/** What the node says is reused this long, however many probes ask. */
const PROBE_LASTS_MS = 1_000
/** Only for chains known by ID: a development chain may stand still for days. */
const KNOWN_CHAIN_MAX_AGE_SECONDS = 60

export interface ReadinessReport {
  ready: boolean
  /** Why the gateway is not ready. */
  reason?: string
  engine: { name: string; version: string; reason: string }
  /** The node's URLs in order of preference, with circuit state; `head` is there if several are configured. */
  upstreams: { upstream: string; circuit: CircuitState; head?: string; strays?: Straying }[]
  /** Whether replicas share the free budgets in Redis; absent without REDIS_URL. */
  limits?: 'shared' | 'local'
  /** Whether this replica listens to the node and the stream itself; absent without REDIS_URL, and while nothing is followed. */
  replica?: { heads?: Role; flashblocks?: Role }
  /** The block behind `pending`; absent without a stream. */
  preconfirmed?: {
    connected: boolean
    block?: string
    flashblock?: number
    ageMs?: number
    /** Recent faults of the stream, oldest first. */
    faults: readonly StreamFault[]
  }
  /** Transactions are scored: `GET /v1/truth`. */
  scores?: true
  /** State of following the head. */
  following?: Following
  chain?: { id: string; rules: string; uncertain?: true; caveats?: string[]; head: string; headAgeSeconds: number }
}

interface Following {
  mode: FollowMode
  following: boolean
  /** WebSocket connections that announce heads; `urls` is how many are configured. */
  subscribed: number
  urls: number
  head?: string
  /** Milliseconds since that head was first seen. */
  ageMs?: number
  /** Whether `latest` is that head without asking the node. */
  trusted: boolean
  /** Estimated milliseconds between blocks. */
  intervalMs: number
  /** How state is carried from block to block, or why it is not; absent until a block was followed. */
  carrying?: { pace: CarryPace; carried?: string; counts: Record<string, number> } | { not: string }
  /** Recent blocks, oldest first. */
  recent: RecentHead[]
}

/** The part of a report that takes a request to the node. */
type Findings = Pick<ReadinessReport, 'ready' | 'reason' | 'engine' | 'chain'>

/** Whether requests can be served correctly now: the node answers, and its head is not stale. */
@Injectable()
export class GatewayReadiness extends Readiness {
  private ending = false
  private probe: { startedAt: number; findings: Promise<Findings> } | undefined

  constructor(
    private readonly environment: Environment,
    @Inject(ENGINE) private readonly choice: EngineChoice,
    private readonly preconfirmed: Preconfirmed,
    private readonly chain: Chain,
    private readonly shared: SharedRedis,
  ) {
    super()
  }

  async report(): Promise<ReadinessReport> {
    const now = performance.now()
    if (this.probe === undefined || now - this.probe.startedAt > PROBE_LASTS_MS)
      this.probe = { startedAt: now, findings: this.findings() }
    const found = await this.probe.findings
    const upstreams = this.chain.agreement
      .status()
      .map(({ head, ...status }) => ({ ...status, ...(head !== undefined && { head: String(head) }) }))
    return {
      ...found,
      ...(found.ready && { following: this.following(), ...this.limits(), ...this.pending() }),
      upstreams,
      ...(this.environment.TRUTH_SCORE === 'on' && { scores: true as const }),
    }
  }

  /** Nest's hook: not ready from here on. */
  beforeApplicationShutdown(): void {
    this.ending = true
    this.probe = undefined
  }

  private async findings(): Promise<Findings> {
    const { name, version } = this.choice.engine
    const engine = { name, version, reason: this.choice.reason }
    if (this.ending) return { ready: false, reason: 'shutting down', engine }
    try {
      const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS)
      const [rules, head] = await Promise.all([this.chain.rules({ signal }), this.chain.resolver.askHead({ signal })])
      const headAgeSeconds = Math.floor(Date.now() / 1000) - Number(head.timestamp)
      const chain = {
        id: String(rules.chainId),
        rules: rules.source,
        ...(rules.isUncertain && { uncertain: true as const }),
        ...(rules.caveats && { caveats: rules.caveats }),
        head: String(head.number),
        headAgeSeconds,
      }
      const maxAge =
        this.environment.HEAD_MAX_AGE_SECONDS ?? (rules.source === 'known-chain' ? KNOWN_CHAIN_MAX_AGE_SECONDS : 0)
      if (maxAge > 0 && headAgeSeconds > maxAge)
        return { ready: false, reason: `the node's head is ${headAgeSeconds} s old`, engine, chain }
      return { ready: true, engine, chain }
    } catch (error) {
      const unreadable = error instanceof RpcError || error instanceof ChainMismatch
      const timeout = `the node did not answer within ${PROBE_TIMEOUT_MS} ms`
      return { ready: false, reason: unreadable ? error.message : timeout, engine }
    }
  }

  private limits(): Pick<ReadinessReport, 'limits' | 'replica'> {
    const { status } = this.shared
    if (status === undefined) return {}
    const heads = this.shared.role('heads')
    const flashblocks = this.shared.role('flashblocks')
    return { limits: status, replica: { ...(heads && { heads }), ...(flashblocks && { flashblocks }) } }
  }

  private following(): Following {
    const { head, ageMs, intervalMs, ...status } = this.chain.head.status()
    return {
      ...status,
      ...(head !== undefined && { head: String(head), ageMs: Math.round(ageMs ?? 0) }),
      intervalMs: Math.round(intervalMs),
      ...this.carrying(),
      recent: this.chain.recent.all(),
    }
  }

  private carrying(): Pick<Following, 'carrying'> {
    const not = this.chain.carrying.obstacle()
    if (not !== undefined) return { carrying: { not } }
    const status = this.chain.carrying.status()
    if (status === undefined) return {}
    const { pace, carried, counts } = status
    return { carrying: { pace, ...(carried !== undefined && { carried: String(carried) }), counts } }
  }

  private pending(): Pick<ReadinessReport, 'preconfirmed'> {
    const status = this.preconfirmed.status()
    if (status === undefined) return {}
    const { connected, blockNumber, flashblock, ageMs } = status
    const faults = this.preconfirmed.faults.recent()
    if (blockNumber === undefined) return { preconfirmed: { connected, faults } }
    return { preconfirmed: { connected, block: String(blockNumber), flashblock: flashblock!, ageMs: ageMs!, faults } }
  }
}

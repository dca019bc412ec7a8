import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { Chain, Preconfirmed } from '@upfront/chain'
import { CallQueue, catchError, UpstreamClient } from '@upfront/node'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import { Driver } from '@upfront/simulation'
import { chooseEngine, ENGINE, type EngineChoice } from '../environment/engine-choice.js'
import { Environment } from '../environment/environment.js'
import { FIXED } from '../environment/fixed.js'
import { memoryShares } from '../limits/memory.js'
import { MinState } from '../pending/min-state.js'
import { Positions } from '../pending/positions.js'
import { SimulationBases } from '../pending/simulation-bases.js'
import { WaitingTransactions } from '../pending/waiting-transactions.js'
import { SharedRedis } from '../replicas/shared-redis.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { Simulator } from './simulator.js'

const EXECUTION_TIMEOUT_MS = 10_000

/** The simulator, and its engine, node client and chain. */
@Module({
  providers: [
    {
      provide: ENGINE,
      inject: [Environment],
      useFactory: ({ EVM_ENGINE, MEMORY_LIMIT_BYTES }: Environment) =>
        chooseEngine(EVM_ENGINE, memoryShares(MEMORY_LIMIT_BYTES).simulations),
    },
    {
      provide: UpstreamClient,
      inject: [Environment, Telemetry],
      useFactory: ({ UPSTREAM_RPC_URL: urls }: Environment, telemetry: Telemetry) =>
        new UpstreamClient({ urls, observer: telemetry.ofUpstream() }),
    },
    { provide: CallQueue, inject: [UpstreamClient], useFactory: (client: UpstreamClient) => new CallQueue(client) },
    {
      provide: Driver,
      inject: [ENGINE, UpstreamClient, CallQueue, Telemetry, Environment],
      useFactory: (
        { engine }: EngineChoice,
        client: UpstreamClient,
        queue: CallQueue,
        telemetry: Telemetry,
        { HINTS }: Environment,
      ) =>
        new Driver(engine, client, queue, {
          hints: HINTS === 'on',
          onRejected: (rejection) => telemetry.tell('simulation.rejected', rejection),
        }),
    },
    {
      provide: Chain,
      inject: [Environment, UpstreamClient, CallQueue, Driver, ENGINE, SharedRedis, Telemetry],
      useFactory: chainOf,
    },
    {
      provide: Preconfirmed,
      inject: [Environment, Chain, Driver, ENGINE, SharedRedis, Telemetry],
      useFactory: preconfirmedOf,
    },
    SharedRedis,
    Positions,
    MinState,
    WaitingTransactions,
    SimulationBases,
    Simulator,
  ],
  exports: [
    SharedRedis,
    ENGINE,
    UpstreamClient,
    CallQueue,
    Driver,
    Chain,
    Positions,
    MinState,
    WaitingTransactions,
    Preconfirmed,
    SimulationBases,
    Simulator,
  ],
})
export class SimulateModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    @Inject(ENGINE) private readonly choice: EngineChoice,
    private readonly client: UpstreamClient,
    private readonly chain: Chain,
    private readonly preconfirmed: Preconfirmed,
    private readonly shared: SharedRedis,
    private readonly simulator: Simulator,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    void this.preconfirmed.start()
    // The first request finds compiled code.
    void catchError<unknown>(
      () => this.simulator.warmUp(),
      (error) => this.logger.warn({ reason: errorText(error) }, 'the simulation at start-up failed'),
    )
  }

  /** Called by Nest once no request is in flight. */
  async onApplicationShutdown(): Promise<void> {
    this.preconfirmed.close()
    this.chain.close()
    this.shared.close()
    await this.choice.engine.close()
    await this.client.close()
  }
}

function chainOf(
  environment: Environment,
  client: UpstreamClient,
  queue: CallQueue,
  driver: Driver,
  { engine }: EngineChoice,
  shared: SharedRedis,
  telemetry: Telemetry,
): Chain {
  const { BLOCK_TIME_SECONDS: seconds, CHAIN_GENESIS_FILE: genesis } = environment
  const chain = new Chain({
    ...{ client, queue, driver, engine },
    follow: environment.FOLLOW_HEAD,
    urls: environment.UPSTREAM_WS_URL ?? [],
    idleMs: FIXED.followIdleMs,
    carry: environment.CARRY_STATE,
    auditEveryMs: FIXED.carryAuditMs,
    rules: {
      ...(genesis === undefined ? {} : { genesis }),
      ...(seconds === undefined ? {} : { blockTime: BigInt(seconds) }),
    },
    relay: (chainId) => shared.relay('heads', chainId),
    observer: {
      head: (event) => telemetry.tell(`head.${event.kind}`, event),
      carry: (event) => telemetry.tell(`carry.${event.kind}`, event),
      straying: (upstream, strays) => telemetry.tell('upstream.straying', { upstream, strays }),
      rules: (rules) => telemetry.tell('chain.rules', rules),
    },
  })
  telemetry.show('head', () => chain.head.status())
  telemetry.show('carry', () => chain.carrying.status())
  return chain
}

function preconfirmedOf(
  { FLASHBLOCKS_WS_URL: urls, FLASHBLOCKS_SILENCE_MS: silenceMs }: Environment,
  chain: Chain,
  driver: Driver,
  { engine: executor }: EngineChoice,
  shared: SharedRedis,
  telemetry: Telemetry,
): Preconfirmed {
  const preconfirmed = new Preconfirmed(chain, {
    ...{ urls, silenceMs, driver, executor },
    maxMessageBytes: FIXED.flashblockBytes,
    relay: urls && shared.relay('flashblocks', () => chain.chainId()),
    executionTimeoutMs: EXECUTION_TIMEOUT_MS,
    observe: (event) => telemetry.tell(`preconfirmed.${event.kind}`, event),
  })
  if (urls !== undefined) telemetry.show('preconfirmed', () => preconfirmed.status())
  return preconfirmed
}

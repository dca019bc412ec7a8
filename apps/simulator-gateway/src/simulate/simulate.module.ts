import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common'
import { BlockResolver, HeadAgreement } from '@upfront/chain'
import { CallQueue, UpstreamClient } from '@upfront/node'
import { Driver } from '@upfront/simulation'
import { AnnouncedBlocks } from '../chain/announced-blocks.js'
import { BlockLogs } from '../chain/block-logs.js'
import { BlockReceipts } from '../chain/block-receipts.js'
import { chooseEngine, ENGINE, type EngineChoice } from '../chain/engine-choice.js'
import { FollowedChain } from '../chain/followed-chain.js'
import { ServedChain } from '../chain/served-chain.js'
import { Environment } from '../environment/environment.js'
import { memoryShares } from '../limits/memory.js'
import { MinState } from '../pending/min-state.js'
import { Positions } from '../pending/positions.js'
import { Preconfirmed } from '../pending/preconfirmed.js'
import { SimulationBases } from '../pending/simulation-base.js'
import { WaitingTransactions } from '../pending/waiting-transactions.js'
import { SharedRedis } from '../replicas/shared-redis.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { Rehearsal } from './rehearsal.js'
import { Simulator } from './simulator.js'

/** Simulating on the chain that is served, and what that stands on. */
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
    {
      provide: HeadAgreement,
      inject: [UpstreamClient, Telemetry, FollowedChain],
      useFactory: (client: UpstreamClient, telemetry: Telemetry, { head }: FollowedChain) =>
        new HeadAgreement(
          client,
          () => head.intervalMs,
          (upstream, strays) => telemetry.tell('upstream.straying', { upstream, strays }),
        ),
    },
    { provide: CallQueue, inject: [UpstreamClient], useFactory: (client: UpstreamClient) => new CallQueue(client) },
    { provide: BlockReceipts, inject: [CallQueue], useFactory: (queue: CallQueue) => new BlockReceipts(queue) },
    {
      provide: BlockResolver,
      inject: [UpstreamClient, FollowedChain],
      useFactory: (client: UpstreamClient, { asked, head, headers }: FollowedChain) =>
        new BlockResolver(client, asked, head, headers),
    },
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
    SharedRedis,
    ServedChain,
    FollowedChain,
    AnnouncedBlocks,
    BlockLogs,
    Preconfirmed,
    Positions,
    MinState,
    WaitingTransactions,
    SimulationBases,
    Simulator,
    Rehearsal,
  ],
  exports: [
    SharedRedis,
    ENGINE,
    UpstreamClient,
    CallQueue,
    BlockResolver,
    BlockLogs,
    BlockReceipts,
    HeadAgreement,
    Driver,
    ServedChain,
    FollowedChain,
    AnnouncedBlocks,
    Positions,
    MinState,
    WaitingTransactions,
    Preconfirmed,
    SimulationBases,
    Simulator,
  ],
})
export class SimulateModule implements OnApplicationShutdown {
  constructor(
    @Inject(ENGINE) private readonly choice: EngineChoice,
    private readonly client: UpstreamClient,
    private readonly agreement: HeadAgreement,
  ) {}

  /** @param imports which have to give `Environment`, `LOGGER` and `Telemetry` */
  static importing(...imports: DynamicModule[]): DynamicModule {
    return { module: SimulateModule, imports }
  }

  async onApplicationShutdown(): Promise<void> {
    this.agreement.close()
    await this.choice.engine.close()
    await this.client.close()
  }
}

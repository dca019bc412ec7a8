import { type DynamicModule, Module } from '@nestjs/common'
import { BlockResolver } from '@upfront/head'
import { UpstreamClient } from '@upfront/node'
import { Driver } from '@upfront/simulation'
import { Callers } from '../callers/callers.js'
import { AnnouncedBlocks } from '../chain/announced-blocks.js'
import { ENGINE, type EngineChoice } from '../chain/engine-choice.js'
import { ServedChain } from '../chain/served-chain.js'
import { Environment } from '../environment/environment.js'
import { counters } from '../limits/counters.js'
import { FreeBudget, freeBudgetLimits } from '../limits/free-budget.js'
import { Memory } from '../limits/memory.js'
import { MemoryGuard } from '../limits/memory-guard.js'
import { RequestQueue } from '../limits/request-queue.js'
import { Preconfirmed } from '../pending/preconfirmed.js'
import { SharedRedis } from '../replicas/shared-redis.js'
import { Inspector } from '../simulate/inspector.js'
import { Simulator } from '../simulate/simulator.js'
import { rpcMethods } from './methods.js'
import { RpcEndpoint } from './rpc.endpoint.js'
import { RpcService } from './rpc.service.js'
import { RpcJournal } from './rpc-journal.js'
import { RPC_METHODS } from './rpc-method.js'

/** What the EVM may take for one simulation of 50M gas. */
const RUN_BYTES = 64 * 1024 * 1024
/** Let in at first on the smallest machine. */
const FEWEST = 8

/** JSON-RPC, and the limits that every request keeps to. */
@Module({
  providers: [
    {
      provide: RequestQueue,
      inject: [Environment, Memory],
      useFactory: ({ MAX_IN_FLIGHT, MAX_QUEUED }: Environment, { capacity }: Memory) =>
        new RequestQueue(MAX_IN_FLIGHT, MAX_QUEUED, Math.max(FEWEST, Math.floor(capacity / RUN_BYTES))),
    },
    {
      provide: Memory,
      inject: [Environment],
      useFactory: ({ MEMORY_LIMIT_BYTES }: Environment) => new Memory(MEMORY_LIMIT_BYTES),
    },
    {
      provide: MemoryGuard,
      inject: [Memory, RequestQueue],
      useFactory: (memory: Memory, queue: RequestQueue) => new MemoryGuard(memory, queue),
    },
    {
      provide: FreeBudget,
      inject: [Environment, SharedRedis],
      useFactory: (environment: Environment, { redis }: SharedRedis) =>
        new FreeBudget(freeBudgetLimits(environment), counters(redis)),
    },
    {
      provide: RPC_METHODS,
      inject: [
        Environment,
        Simulator,
        Inspector,
        UpstreamClient,
        BlockResolver,
        Driver,
        ServedChain,
        ENGINE,
        Preconfirmed,
        AnnouncedBlocks,
      ],
      useFactory: (
        environment: Environment,
        simulator: Simulator,
        inspector: Inspector,
        client: UpstreamClient,
        blocks: BlockResolver,
        driver: Driver,
        served: ServedChain,
        { engine }: EngineChoice,
        preconfirmed: Preconfirmed,
        announced: AnnouncedBlocks,
      ) =>
        rpcMethods({
          environment,
          simulator,
          inspector,
          client,
          blocks,
          driver,
          served,
          engine,
          preconfirmed,
          announced,
        }),
    },
    Callers,
    RpcService,
    RpcJournal,
    RpcEndpoint,
  ],
  exports: [Callers, RequestQueue, Memory, MemoryGuard, FreeBudget, RpcJournal, RpcEndpoint, RPC_METHODS],
})
export class RpcModule {
  /** @param imports which have to give `Environment`, `LOGGER`, `Metrics` and what simulates */
  static importing(...imports: DynamicModule[]): DynamicModule {
    return { module: RpcModule, imports }
  }
}

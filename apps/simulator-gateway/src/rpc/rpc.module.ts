import { type DynamicModule, Module } from '@nestjs/common'
import { Chain, Preconfirmed } from '@upfront/chain'
import { UpstreamClient } from '@upfront/node'
import { Driver } from '@upfront/simulation'
import { Callers } from '../callers/callers.js'
import { ENGINE, type EngineChoice } from '../environment/engine-choice.js'
import { Environment } from '../environment/environment.js'
import { counters } from '../limits/counters.js'
import { FreeBudget } from '../limits/free-budget.js'
import { Memory } from '../limits/memory.js'
import { MemoryGuard } from '../limits/memory-guard.js'
import { Turns } from '../limits/turns.js'
import { Positions } from '../pending/positions.js'
import { SimulationBases } from '../pending/simulation-base.js'
import { SharedRedis } from '../replicas/shared-redis.js'
import { Admission } from '../requests/admission.js'
import { AnswerSender } from '../requests/answer-sender.js'
import { RPC_METHODS } from '../requests/rpc-method.js'
import { Simulator } from '../simulate/simulator.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { rpcMethods } from './methods.js'
import { RpcEndpoint } from './rpc.endpoint.js'
import { RpcService } from './rpc.service.js'

/** JSON-RPC, and the limits that every request keeps to. */
@Module({
  providers: [
    {
      provide: Memory,
      inject: [Environment],
      useFactory: ({ MEMORY_LIMIT_BYTES }: Environment) => new Memory(MEMORY_LIMIT_BYTES),
    },
    {
      provide: Turns,
      inject: [Environment, Memory, Telemetry],
      useFactory: ({ LIMITS }: Environment, memory: Memory, telemetry: Telemetry) => {
        const guard = new MemoryGuard(memory)
        const turns = new Turns({ maxInFlight: LIMITS.inFlight, maxQueued: LIMITS.queued }, { memory, guard })
        telemetry.show('requests', () => ({
          inFlight: turns.inFlight,
          queued: turns.queued,
          endedForMemory: guard.ended,
        }))
        return turns
      },
    },
    {
      provide: FreeBudget,
      inject: [Environment, SharedRedis],
      useFactory: ({ LIMITS }: Environment, shared: SharedRedis) => new FreeBudget(LIMITS, counters(shared)),
    },
    {
      provide: RPC_METHODS,
      inject: [Environment, Simulator, UpstreamClient, SimulationBases, Positions, Chain, Driver, ENGINE, Preconfirmed],
      useFactory: (
        environment: Environment,
        simulator: Simulator,
        client: UpstreamClient,
        bases: SimulationBases,
        positions: Positions,
        chain: Chain,
        driver: Driver,
        { engine }: EngineChoice,
        preconfirmed: Preconfirmed,
      ) =>
        rpcMethods({
          environment,
          simulator,
          client,
          bases,
          positions,
          chain,
          driver,
          engine,
          preconfirmed,
        }),
    },
    Callers,
    RpcService,
    Admission,
    RpcEndpoint,
    AnswerSender,
  ],
  exports: [Admission, Callers, Turns, Memory, FreeBudget, RpcEndpoint, AnswerSender, RPC_METHODS],
})
export class RpcModule {
  /** @param imports which have to give `Environment`, `LOGGER`, `Telemetry` and what simulates */
  static importing(...imports: DynamicModule[]): DynamicModule {
    return { module: RpcModule, imports }
  }
}

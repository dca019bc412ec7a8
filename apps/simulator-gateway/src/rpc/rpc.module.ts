import { Module } from '@nestjs/common'
import { Callers } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { counters } from '../limits/counters.js'
import { FreeBudget } from '../limits/free-budget.js'
import { Memory } from '../limits/memory.js'
import { MemoryGuard } from '../limits/memory-guard.js'
import { Turns } from '../limits/turns.js'
import { SharedRedis } from '../replicas/shared-redis.js'
import { AnswerSender } from '../requests/answer-sender.js'
import { RPC_METHODS } from '../requests/rpc-method.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { MethodSources, rpcMethods } from './methods.js'
import { RpcEndpoint } from './rpc.endpoint.js'
import { RpcService } from './rpc.service.js'

/** JSON-RPC, and the limits of all requests. */
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
    MethodSources,
    { provide: RPC_METHODS, inject: [MethodSources], useFactory: rpcMethods },
    Callers,
    RpcService,
    RpcEndpoint,
    AnswerSender,
  ],
  exports: [Callers, Turns, Memory, FreeBudget, RpcEndpoint, AnswerSender, RPC_METHODS],
})
export class RpcModule {}

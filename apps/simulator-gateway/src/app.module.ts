import { type DynamicModule, Module } from '@nestjs/common'
import { APP_FILTER } from '@nestjs/core'
import { ChainState } from '@upfront/chain-state'
import type { Logger } from 'pino'
import { Environment } from './environment.js'
import { HealthController } from './health/health.controller.js'
import { Readiness } from './health/readiness.js'
import { Admission } from './http/admission.js'
import { BufferedBytes } from './http/buffered-bytes.js'
import { FreeRateLimit } from './http/free-rate-limit.js'
import { RefusalFilter } from './http/refusal.filter.js'
import { Refusals } from './http/refusals.js'
import { createLogger, LOGGER } from './logger.js'
import { MetricsController } from './metrics/metrics.controller.js'
import { Metrics } from './metrics/metrics.js'
import { UpstreamJournal } from './metrics/upstream-journal.js'
import { PaidModule } from './paid/paid.module.js'
import { Preconfirmed } from './pending/preconfirmed.js'
import { PreconfirmedJournal } from './pending/preconfirmed-journal.js'
import { Standpoints } from './pending/standpoints.js'
import { rpcMethods } from './rpc/methods.js'
import { PlainFront } from './rpc/plain-front.js'
import { RpcEndpoint } from './rpc/rpc.endpoint.js'
import { RpcService } from './rpc/rpc.service.js'
import { RpcJournal } from './rpc/rpc-journal.js'
import { RPC_METHODS } from './rpc/rpc-method.js'
import { chooseEngine, ENGINE, type EngineChoice } from './simulate/engine-choice.js'
import { ServedChain } from './simulate/served-chain.js'
import { Simulator } from './simulate/simulator.js'

/** The wiring of the gateway. What a paid route needs of it is exported to every module. */
@Module({})
export class AppModule {
  static forRoot(environment: Environment, logger: Logger = createLogger(environment.LOG_LEVEL)): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: environment.BILLING_URL === undefined ? [] : [PaidModule.forRoot(environment, logger)],
      controllers: [HealthController, MetricsController],
      providers: [
        { provide: Environment, useValue: environment },
        { provide: LOGGER, useValue: logger },
        { provide: APP_FILTER, useClass: RefusalFilter },
        { provide: Admission, useFactory: () => new Admission(environment.MAX_IN_FLIGHT, environment.MAX_QUEUED) },
        { provide: BufferedBytes, useFactory: () => new BufferedBytes(environment.MAX_BUFFERED_BYTES) },
        { provide: FreeRateLimit, useFactory: () => new FreeRateLimit(environment.FREE_RATE_LIMIT) },
        {
          provide: RPC_METHODS,
          inject: [Simulator, ChainState, ServedChain, ENGINE, Preconfirmed],
          useFactory: (
            simulator: Simulator,
            chain: ChainState,
            served: ServedChain,
            { engine }: EngineChoice,
            preconfirmed: Preconfirmed,
          ) => rpcMethods(environment, simulator, chain, served, engine, preconfirmed),
        },
        {
          provide: ChainState,
          inject: [UpstreamJournal],
          useFactory: (observer: UpstreamJournal) => new ChainState({ urls: environment.UPSTREAM_RPC_URL, observer }),
        },
        {
          provide: ENGINE,
          useFactory: () => chooseEngine(environment.EVM_ENGINE),
        },
        ServedChain,
        Standpoints,
        Metrics,
        Preconfirmed,
        PreconfirmedJournal,
        Readiness,
        RpcEndpoint,
        PlainFront,
        Refusals,
        RpcJournal,
        RpcService,
        Simulator,
        UpstreamJournal,
      ],
      exports: [Environment, LOGGER, Metrics, Simulator, ChainState, ENGINE, Admission, BufferedBytes, RpcJournal],
    }
  }
}

import cluster from 'node:cluster'
import { type DynamicModule, Module } from '@nestjs/common'
import { APP_FILTER } from '@nestjs/core'
import { HealthController, type Logger, Metrics, MetricsController, Readiness, ServiceModule } from '@upfront/service'
import { ConsoleModule } from './console/console.module.js'
import { Environment } from './environment/environment.js'
import { Draining } from './http/draining.js'
import { FastifyHooks } from './http/fastify-hooks.js'
import { PlainFront } from './http/plain-front.js'
import { RefusalFilter, Refusals } from './http/refusals.js'
import { RpcController } from './http/rpc.controller.js'
import { McpController } from './mcp/mcp.controller.js'
import { OwnRoutes } from './mcp/own-routes.js'
import { Tools } from './mcp/tools.js'
import { GatewayReadiness } from './ops/readiness.js'
import { WorkersMetrics } from './ops/workers-metrics.js'
import { PaidModule } from './paid/paid.module.js'
import { RpcModule } from './rpc/rpc.module.js'
import { SimulateModule } from './simulate/simulate.module.js'
import { Telemetry } from './telemetry/telemetry.js'
import { TruthModule } from './truth/truth.module.js'
import { WebSockets } from './web-socket/web-sockets.js'

/** Settings, logger, metrics and telemetry, which all modules use. */
@Module({
  providers: [
    { provide: Metrics, useFactory: () => (cluster.isWorker ? new WorkersMetrics() : new Metrics()) },
    Telemetry,
  ],
  exports: [Metrics, Telemetry],
})
class ProcessModule {
  static forRoot(environment: Environment, logger: Logger): DynamicModule {
    const modules = [ServiceModule.forRoot(environment, logger)]
    return { module: ProcessModule, imports: modules, exports: modules }
  }
}

/** The entrances that are always open: `POST /`, WebSockets, `/mcp`, health and metrics. */
@Module({
  controllers: [RpcController, McpController, HealthController, MetricsController],
  providers: [
    { provide: APP_FILTER, useClass: RefusalFilter },
    { provide: Readiness, useClass: GatewayReadiness },
    Refusals,
    FastifyHooks,
    PlainFront,
    Draining,
    WebSockets,
    Tools,
    OwnRoutes,
  ],
})
class EntranceModule {}

/** The gateway: entrances → rpc → simulate; paid routes if `BILLING_URL` is set. */
@Module({})
export class AppModule {
  static forRoot(environment: Environment, logger: Logger): DynamicModule {
    const process = ProcessModule.forRoot(environment, logger)
    const simulate = { module: SimulateModule, imports: [process] }
    const rpc = { module: RpcModule, imports: [process, simulate] }
    const rooms = [process, rpc, simulate]
    const imports: DynamicModule[] = [{ module: EntranceModule, imports: rooms }]
    const sells = environment.BILLING_URL !== undefined
    if (environment.CONSOLE === 'on') imports.push(ConsoleModule.importing(sells, process, rpc))
    if (sells) imports.push(PaidModule.importing(...rooms))
    if (environment.TRUTH_SCORE === 'on') imports.push(TruthModule.importing(...rooms))
    return { module: AppModule, imports }
  }
}

import cluster from 'node:cluster'
import { type DynamicModule, Module } from '@nestjs/common'
import { ConfigurationModule, type Logger, LoggerModule, Metrics } from '@upfront/service'
import { ConsoleModule } from './console/console.module.js'
import { Environment } from './environment/environment.js'
import { HttpModule } from './http/http.module.js'
import { McpModule } from './mcp/mcp.module.js'
import { OpsModule } from './ops/ops.module.js'
import { WorkersMetrics } from './ops/workers-metrics.js'
import { PaidModule } from './paid/paid.module.js'
import { RpcModule } from './rpc/rpc.module.js'
import { SimulateModule } from './simulate/simulate.module.js'
import { Telemetry } from './telemetry/telemetry.js'
import { TruthModule } from './truth/truth.module.js'
import { WebSocketModule } from './web-socket/web-socket.module.js'

/** What every room uses: settings, and what the process says of itself. */
@Module({
  providers: [
    { provide: Metrics, useFactory: () => (cluster.isWorker ? new WorkersMetrics() : new Metrics()) },
    Telemetry,
  ],
  exports: [Metrics, Telemetry],
})
class ProcessModule {
  static forRoot(environment: Environment, logger: Logger): DynamicModule {
    const modules = [ConfigurationModule.forRoot(Environment, () => environment), LoggerModule.forRoot(logger)]
    return { module: ProcessModule, imports: modules, exports: modules }
  }
}

/** The gateway: http → rpc → simulate, the paid routes where `BILLING_URL` is set, MCP, and what operators look at. */
@Module({})
export class AppModule {
  static forRoot(environment: Environment, logger: Logger): DynamicModule {
    const process = ProcessModule.forRoot(environment, logger)
    const simulate = SimulateModule.importing(process)
    const rpc = RpcModule.importing(process, simulate)
    const imports = [
      HttpModule.importing(process, rpc, simulate),
      WebSocketModule.importing(process, rpc, simulate),
      McpModule.importing(process, rpc),
      OpsModule.importing(process, rpc, simulate),
    ]
    const sells = environment.BILLING_URL !== undefined
    if (environment.CONSOLE === 'on') imports.push(ConsoleModule.importing(sells, process, rpc))
    if (sells) imports.push(PaidModule.importing(process, rpc, simulate))
    if (environment.TRUTH_SCORE === 'on') imports.push(TruthModule.importing(process, rpc, simulate))
    return { module: AppModule, imports }
  }
}

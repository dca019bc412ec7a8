import { type DynamicModule, Module } from '@nestjs/common'
import { HealthController, MetricsController, Readiness } from '@upfront/service'
import { GatewayReadiness } from './readiness.js'

/** What operators look at: `/health` and `/metrics`. */
@Module({
  controllers: [HealthController, MetricsController],
  providers: [{ provide: Readiness, useClass: GatewayReadiness }],
})
export class OpsModule {
  /** @param imports which have to give `Environment`, `Metrics` and what simulates */
  static importing(...imports: DynamicModule[]): DynamicModule {
    return { module: OpsModule, imports }
  }
}

import { type DynamicModule, Module } from '@nestjs/common'
import { APP_FILTER } from '@nestjs/core'
import { Draining } from './draining.js'
import { FastifyHooks } from './fastify-hooks.js'
import { PlainFront } from './plain-front.js'
import { RefusalFilter, Refusals } from './refusals.js'
import { RpcController } from './rpc.controller.js'

/** The way from a connection to `POST /` and back. */
@Module({
  controllers: [RpcController],
  providers: [{ provide: APP_FILTER, useClass: RefusalFilter }, Refusals, FastifyHooks, PlainFront, Draining],
})
export class HttpModule {
  /** @param imports which have to give `Environment`, `LOGGER`, `Metrics` and JSON-RPC with its limits */
  static importing(...imports: DynamicModule[]): DynamicModule {
    return { module: HttpModule, imports }
  }
}

import { type DynamicModule, Module } from '@nestjs/common'
import { McpController } from './mcp.controller.js'
import { OwnRoutes } from './own-routes.js'
import { Tools } from './tools.js'

/** `/mcp`, for agents. */
@Module({ controllers: [McpController], providers: [Tools, OwnRoutes] })
export class McpModule {
  /** @param imports which have to give `Environment` and JSON-RPC with its limits */
  static importing(...imports: DynamicModule[]): DynamicModule {
    return { module: McpModule, imports }
  }
}

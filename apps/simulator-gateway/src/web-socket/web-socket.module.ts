import { type DynamicModule, Module } from '@nestjs/common'
import { WebSockets } from './web-sockets.js'

/** JSON-RPC over WebSocket, on the port and at the addresses of `POST /`. */
@Module({ providers: [WebSockets] })
export class WebSocketModule {
  /** @param imports which have to give `Environment`, `LOGGER`, `Metrics` and JSON-RPC with its limits */
  static importing(...imports: DynamicModule[]): DynamicModule {
    return { module: WebSocketModule, imports }
  }
}

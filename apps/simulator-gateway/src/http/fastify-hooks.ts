import { Injectable, type OnModuleInit } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { Environment } from '../environment/environment.js'
import { BufferedBytes } from '../limits/buffered-bytes.js'
import { FreeRateLimit } from '../limits/free-rate-limit.js'
import { acceptJsonBodies } from './accept-json-bodies.js'

/** What happens to every request before a handler: it gets an id, is counted, and its body is received within limits. */
@Injectable()
export class FastifyHooks implements OnModuleInit {
  constructor(
    private readonly adapterHost: HttpAdapterHost<FastifyAdapter>,
    private readonly freeRate: FreeRateLimit,
    private readonly buffered: BufferedBytes,
    private readonly environment: Environment,
  ) {}

  onModuleInit(): void {
    const server = this.adapterHost.httpAdapter.getInstance()
    server.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id)
      done()
    })
    if (this.environment.FREE_RATE_LIMIT > 0) {
      server.addHook('onRequest', async (request) => {
        if (request.method === 'POST' && request.routeOptions.url === '/') await this.freeRate.take(request.ip)
      })
    }
    acceptJsonBodies(server, this.environment.MAX_BODY_BYTES, this.buffered)
  }
}

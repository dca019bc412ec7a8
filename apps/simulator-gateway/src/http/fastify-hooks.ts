import { Injectable, type OnModuleInit } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { Callers } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { FreeBudget } from '../limits/free-budget.js'
import { Memory } from '../limits/memory.js'
import { MIN_STATE_HEADER, MinState } from '../pending/min-state.js'
import { ETHEREUM_PATH } from '../requests/request.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { acceptJsonBodies } from './accept-json-bodies.js'

/** Routes on which a request counts as a call on arrival. */
const COUNTED = ['/', `/${ETHEREUM_PATH}`]

/** Runs before every handler: sets the request ID, identifies and counts the caller, and receives the body within limits. */
@Injectable()
export class FastifyHooks implements OnModuleInit {
  constructor(
    private readonly adapterHost: HttpAdapterHost<FastifyAdapter>,
    private readonly free: FreeBudget,
    private readonly memory: Memory,
    private readonly callers: Callers,
    private readonly environment: Environment,
    private readonly minState: MinState,
    telemetry: Telemetry,
  ) {
    telemetry.show('memory', () => memory)
  }

  onModuleInit(): void {
    const server = this.adapterHost.httpAdapter.getInstance()
    server.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id)
      done()
    })
    server.decorateRequest('caller', undefined)
    server.decorateRequest('callerUntil', undefined)
    if (this.callers.areKnown)
      server.addHook('onRequest', async (request) => {
        // Upgrades are checked in web-sockets.ts: a refusal here would leave their connections open.
        const isUpgrade = request.headers.upgrade !== undefined
        if (request.method === 'POST' && !isUpgrade) request.caller = await this.callers.of(request)
      })
    if (!this.free.isOff || this.callers.areKnown)
      server.addHook('onRequest', async (request) => {
        const { url = '' } = request.routeOptions
        if (request.method === 'POST' && COUNTED.includes(url)) await this.free.take(request.caller ?? request.ip)
      })
    server.addHook('onRequest', async (request) => {
      const header = request.headers[MIN_STATE_HEADER]
      if (header !== undefined && request.headers.upgrade === undefined)
        await this.minState.createWait(String(header))()
    })
    acceptJsonBodies(server, this.environment.LIMITS.bodyBytes, this.memory)
  }
}

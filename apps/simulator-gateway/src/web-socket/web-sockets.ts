import fastifyWebsocket, { type WebSocket } from '@fastify/websocket'
import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { LOGGER, type Logger } from '@upfront/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Callers, callerOf } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { FIXED } from '../environment/fixed.js'
import { FreeBudget } from '../limits/free-budget.js'
import { Memory } from '../limits/memory.js'
import { Tally } from '../limits/tally.js'
import { MIN_STATE_HEADER, MinState } from '../pending/min-state.js'
import { dialectOf, ETHEREUM_PATH } from '../requests/request.js'
import { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { WebSocketConnection } from './web-socket-connection.js'

/** Largest message. Longer requests have to use `POST`. */
const MAX_MESSAGE_BYTES = 1024 * 1024
/** Most fragments of a message: each is kept separately until the last has arrived. */
const MAX_FRAGMENTS = 64
/** Most reads of one frame; packets of real networks need fewer. */
const MAX_READS_OF_A_FRAME = 4_096
/** A dead connection is noticed within twice this time. */
const PING_MS = 30_000

/** Serves JSON-RPC over WebSocket at `/` and `/ethereum`. */
@Injectable()
export class WebSockets implements OnModuleInit, BeforeApplicationShutdown {
  private readonly open = new Set<WebSocketConnection>()
  private readonly subscriptions = new Tally()
  private pinging: NodeJS.Timeout | undefined

  constructor(
    private readonly adapterHost: HttpAdapterHost<FastifyAdapter>,
    private readonly endpoint: RpcEndpoint,
    private readonly free: FreeBudget,
    private readonly memory: Memory,
    private readonly callers: Callers,
    private readonly environment: Environment,
    private readonly minState: MinState,
    @Inject(LOGGER) private readonly logger: Logger,
    telemetry: Telemetry,
  ) {
    telemetry.show('webSockets', () => ({
      open: this.open.size,
      subscriptions: [...this.open].reduce((count, { subscribed }) => count + subscribed, 0),
    }))
  }

  onModuleInit(): void {
    const server = this.adapterHost.httpAdapter.getInstance()
    const options = {
      maxPayload: Math.min(MAX_MESSAGE_BYTES, this.environment.LIMITS.bodyBytes),
      maxFragments: MAX_FRAGMENTS,
      maxBufferedChunks: MAX_READS_OF_A_FRAME,
    }
    // `beforeApplicationShutdown` closes open connections, after answering received messages.
    server.register(fastifyWebsocket, {
      options,
      preClose: (done) => done(),
      errorHandler: (_, socket) => socket.close(),
    })
    server.register(async (scope) => {
      for (const path of ['/', `/${ETHEREUM_PATH}`])
        scope.route({
          method: 'GET',
          url: path,
          preValidation: (request, reply) => this.admit(request, reply),
          handler: (_, reply) => reply.callNotFound(),
          wsHandler: (socket, request) => this.serve(socket, request),
        })
    })
    this.pinging = setInterval(() => {
      for (const connection of this.open) connection.ping()
    }, PING_MS).unref()
  }

  beforeApplicationShutdown(): void {
    clearInterval(this.pinging)
    for (const connection of this.open) connection.end(this.environment.SHUTDOWN_TIMEOUT_MS)
  }

  /** Browsers let any page connect. Only origins that may call by `POST` are accepted: the gateway's own and those of `CORS_ORIGINS`. */
  private async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (!request.ws) return
    const { origin, host } = request.headers
    const own = [`http://${host}`, `https://${host}`]
    const allowed = [...own, ...(this.environment.CORS_ORIGINS ?? [])]
    if (origin !== undefined && !allowed.includes('*') && !allowed.includes(origin)) {
      await reply.code(403).send({ error: 'this origin is not allowed: it must be in CORS_ORIGINS' })
    } else {
      this.waitsFor(request)
      if (this.callers.areKnown) request.caller = await this.callers.of(request)
    }
  }

  /** The query parameter covers a whole connection: libraries can't set headers per message, and pages can't set any. */
  private waitsFor({ headers, query }: FastifyRequest) {
    const name = (query as Record<string, unknown>)[MIN_STATE_HEADER] ?? headers[MIN_STATE_HEADER]
    return name === undefined ? undefined : this.minState.createWait(String(name))
  }

  private serve(socket: WebSocket, request: FastifyRequest): void {
    const dialect = dialectOf(request, this.environment.DIALECT)
    const { endpoint, free, memory, logger } = this
    const caller = callerOf(request)
    const connection = new WebSocketConnection(
      { webSocket: socket, socket: request.raw.socket, caller, dialect },
      {
        endpoint,
        budget: endpoint.free,
        free,
        memory,
        logger,
        answerTimeoutMs: FIXED.answerMs,
        waits: this.waitsFor(request),
        subscriptions: this.subscriptions,
      },
    )
    this.open.add(connection)
    if (request.callerUntil !== undefined) connection.endAt(request.callerUntil)
    socket.once('close', () => this.open.delete(connection))
  }
}

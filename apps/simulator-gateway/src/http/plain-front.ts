import { Injectable, type OnApplicationBootstrap } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { attachFront, type FastRequest, type Front } from '@upfront/fast-http'
import { catchError } from '@upfront/node'
import { acceptedRequestId } from '@upfront/service'
import { CALLER_HEADERS, Callers } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { FIXED } from '../environment/fixed.js'
import { clientOf } from '../limits/client-of.js'
import { FreeBudget } from '../limits/free-budget.js'
import { LONG_BODIES } from '../limits/long-bodies.js'
import { Memory } from '../limits/memory.js'
import { RETRY_AFTER_SECONDS } from '../limits/refused.js'
import { Turns } from '../limits/turns.js'
import { STATE_HEADER } from '../pending/answer-state.js'
import { MIN_STATE_HEADER } from '../pending/min-state.js'
import type { RequestView } from '../pending/request-view.js'
import { AnswerSender, lengthOf } from '../requests/answer-sender.js'
import type { Request } from '../requests/request.js'
import type { RpcAnswer } from '../requests/rpc-method.js'
import { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import { limitConnections } from './connection-limit.js'
import { Refusals } from './refusals.js'

/** Longer bodies are left to Fastify: receiving them is a small part of their cost. */
const MAX_BODY_BYTES = 1024 * 1024

/** Answers plain `POST /` requests like `RpcController`, but without Node's HTTP server and Fastify. */
@Injectable()
export class PlainFront implements OnApplicationBootstrap {
  private front: Front | undefined

  constructor(
    private readonly adapterHost: HttpAdapterHost<FastifyAdapter>,
    private readonly endpoint: RpcEndpoint,
    private readonly turns: Turns,
    private readonly free: FreeBudget,
    private readonly memory: Memory,
    private readonly sender: AnswerSender,
    private readonly refusals: Refusals,
    private readonly callers: Callers,
    private readonly environment: Environment,
  ) {}

  onApplicationBootstrap(): void {
    const { TRUSTED_PROXIES, OTEL_EXPORTER_OTLP_ENDPOINT } = this.environment
    const { bodyBytes, connections: total, connectionsPerClient: perClient } = this.environment.LIMITS
    const server = this.adapterHost.httpAdapter.getHttpServer()
    // Behind a proxy Fastify reads the client from a header; it does not matter if there is no rate limit.
    // Tracing spans are made in Fastify.
    const isOpen = (TRUSTED_PROXIES === undefined || this.free.isOff) && OTEL_EXPORTER_OTLP_ENDPOINT === undefined
    this.front = attachFront(server, {
      maxBodyBytes: isOpen ? Math.min(MAX_BODY_BYTES, bodyBytes) : 0,
      leave: [MIN_STATE_HEADER, ...(this.callers.areKnown ? CALLER_HEADERS : [])],
      bodyTimeoutMs: FIXED.bodyMs,
      longBodyTurn: () => LONG_BODIES.next(),
      memoryOf: ({ remoteAddress }) => this.memory.bodiesOf(clientOf(remoteAddress ?? '')),
      serve: (request) => this.serve(request),
      refuse: (error, request) => this.refuse(error, acceptedRequestId(request.requestId), request),
    })
    // After `standBefore`, which takes over existing listeners.
    limitConnections(server, {
      total,
      perClient: TRUSTED_PROXIES === undefined ? perClient : undefined,
      memory: this.memory,
      isIdle: (socket) => this.front?.isIdle(socket),
    })
    server.on('connection', () => this.turns.connectionAccepted())
  }

  /** Closes connections on which no request is under way. */
  closeIdle(): void {
    this.front?.closeIdle()
  }

  closeAll(): void {
    this.front?.closeAll()
  }

  private serve(request: FastRequest): void {
    const id = acceptedRequestId(request.requestId)
    const refuse = (thrown: unknown) => this.refuse(thrown, id, request)
    if (this.free.isOff) {
      catchError(() => this.answer(request, id), refuse)
      return
    }
    this.free
      .take(request.socket.remoteAddress)
      .then(() => this.answer(request, id))
      .catch(refuse)
  }

  private answer(request: FastRequest, id: string) {
    const { body, socket } = request
    const asked: Request = {
      id,
      caller: socket.remoteAddress ?? '',
      dialect: this.environment.DIALECT,
      connection: socket,
      length: body.length,
      budget: this.endpoint.free,
    }
    return this.endpoint.serve(asked, body, (answer, view) => this.send(request, id, answer, view))
  }

  private send(request: FastRequest, id: string, { status, body = [] }: RpcAnswer, { header }: RequestView): void {
    const headers = ['x-request-id', id]
    if (header !== undefined) headers.push(STATE_HEADER, header)
    if (status === 503) headers.push('retry-after', RETRY_AFTER_SECONDS)
    if (body.length > 0) headers.push('content-type', 'application/json; charset=utf-8')
    request.respond(status, headers, body, this.sender.hold(lengthOf(body), request.socket))
  }

  private refuse(thrown: unknown, id: string, request: Pick<FastRequest, 'respond'>): void {
    const refusal = this.refusals.of(thrown, { id, url: '/' })
    if (refusal === undefined) return
    const { status, headers, body } = refusal
    request.respond(status, ['x-request-id', id, ...Object.entries(headers).flat()], [body])
  }
}

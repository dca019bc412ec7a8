import type { Server } from 'node:http'
import { Injectable } from '@nestjs/common'
import { type FastRequest, type Front, standBefore } from '@upfront/fast-http'
import { recovered } from '@upfront/node'
import type { JsonText } from '@upfront/protocol'
import { Environment } from '../environment.js'
import { BufferedBytes } from '../http/buffered-bytes.js'
import { FreeRateLimit } from '../http/free-rate-limit.js'
import { Refusals } from '../http/refusals.js'
import { acceptedRequestId } from '../http/request-id.js'
import type { RequestView } from '../pending/request-view.js'
import { STATE_HEADER, standingToHeader } from '../pending/standing.js'
import { RpcEndpoint } from './rpc.endpoint.js'
import type { RpcAnswer } from './rpc.service.js'

/** Of longer bodies, the way to their handler is a small part of the work. */
const MOST_BODY_BYTES = 1024 * 1024

/** Answers the plainest `POST /` as Fastify's route would, without Node's HTTP and without Fastify. */
@Injectable()
export class PlainFront {
  constructor(
    private readonly endpoint: RpcEndpoint,
    private readonly freeRate: FreeRateLimit,
    private readonly buffered: BufferedBytes,
    private readonly refusals: Refusals,
    private readonly environment: Environment,
  ) {}

  standBefore(server: Server): Front {
    const { TRUSTED_PROXIES, FREE_RATE_LIMIT, MAX_BODY_BYTES, BODY_TIMEOUT_MS } = this.environment
    // Behind a proxy, who asks is in a header, and Fastify knows which. Where nobody is counted, it does not matter.
    const isOpen = TRUSTED_PROXIES === undefined || FREE_RATE_LIMIT === 0
    return standBefore(server, {
      maxBodyBytes: isOpen ? Math.min(MOST_BODY_BYTES, MAX_BODY_BYTES) : 0,
      bodyTimeoutMs: BODY_TIMEOUT_MS,
      memory: this.buffered,
      serve: (request) => this.serve(request),
    })
  }

  private serve(request: FastRequest): void {
    const id = acceptedRequestId(request.requestId)
    const refuse = (thrown: unknown) => this.refuse(thrown, id, request)
    if (this.environment.FREE_RATE_LIMIT === 0) recovered(() => this.answer(request, id), refuse)
    else
      this.freeRate
        .take(request.socket.remoteAddress ?? '')
        .then(() => this.answer(request, id))
        .catch(refuse)
  }

  private answer(request: FastRequest, id: string) {
    const { body, socket } = request
    const asked = { id, ip: socket.remoteAddress ?? '', dialect: this.environment.DIALECT, body }
    return this.endpoint.serve(asked, socket, (answer, view) => this.send(request, id, answer, view))
  }

  private send(request: FastRequest, id: string, { status, body = [] }: RpcAnswer, { standing }: RequestView): void {
    const headers = ['x-request-id', id]
    if (standing !== undefined) headers.push(STATE_HEADER, standingToHeader(standing))
    if (body.length > 0) headers.push('content-type', 'application/json; charset=utf-8')
    request.respond(status, headers, body, this.buffered.hold(lengthOf(body)))
  }

  private refuse(thrown: unknown, id: string, request: FastRequest): void {
    const refusal = this.refusals.of(thrown, { id, url: '/' })
    if (refusal === undefined) return
    const { status, headers, body } = refusal
    request.respond(status, ['x-request-id', id, ...Object.entries(headers).flat()], [body])
  }
}

function lengthOf(body: readonly JsonText[]): number {
  let length = 0
  for (const part of body) length += part.length
  return length
}

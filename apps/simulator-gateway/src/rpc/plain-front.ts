import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { Injectable } from '@nestjs/common'
import { recovered } from '@upfront/simulation'
import { Environment } from '../environment.js'
import { BufferedBytes, SMALL_BYTES } from '../http/buffered-bytes.js'
import { FreeRateLimit } from '../http/free-rate-limit.js'
import { Refusals } from '../http/refusals.js'
import { requestId } from '../http/request-id.js'
import type { RequestView } from '../pending/request-view.js'
import { STATE_HEADER, standingToHeader } from '../pending/standing.js'
import { RpcEndpoint } from './rpc.endpoint.js'
import type { RpcAnswer } from './rpc.service.js'

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i
const ANSWER_TYPE = 'application/json; charset=utf-8'

/**
 * Answers the plainest `POST /`, a small JSON body of known length, as Fastify's route would, without Fastify: its hooks,
 * parsers and reply take as long as a small simulation. Whatever else comes in is Fastify's.
 */
@Injectable()
export class PlainFront {
  private readonly maxBytes: number
  private readonly isOpen: boolean

  constructor(
    private readonly endpoint: RpcEndpoint,
    private readonly freeRate: FreeRateLimit,
    private readonly buffered: BufferedBytes,
    private readonly refusals: Refusals,
    private readonly environment: Environment,
  ) {
    this.maxBytes = Math.min(SMALL_BYTES, environment.MAX_BODY_BYTES)
    // Behind a proxy, who asks is in a header, and Fastify knows which. Where nobody is counted, it does not matter.
    this.isOpen = environment.TRUSTED_PROXIES === undefined || environment.FREE_RATE_LIMIT === 0
  }

  /** Puts itself before the one listener that the server has. */
  standBefore(server: Server): void {
    const [fastify] = server.listeners('request') as [RequestListener]
    server.off('request', fastify)
    server.on('request', (request, response) => {
      // A server that closes tells its clients so in each answer: that, too, is left to Fastify.
      const length = server.listening ? this.plainLength(request) : 0
      if (length > 0) this.serve(request, response, length)
      else fastify(request, response)
    })
  }

  /** The body's length where the request is one of ours, else 0. */
  private plainLength({ method, url, headers }: IncomingMessage): number {
    if (!this.isOpen || method !== 'POST' || url !== '/') return 0
    if (headers.origin !== undefined || headers['content-encoding'] !== undefined) return 0
    if (headers['content-type'] === undefined || !JSON_TYPE.test(headers['content-type'])) return 0
    const length = Number(headers['content-length'])
    return length <= this.maxBytes ? length : 0
  }

  private serve(request: IncomingMessage, response: ServerResponse, length: number): void {
    const id = requestId(request)
    const refuse = (thrown: unknown) => this.refuse(thrown, id, response)
    const answer = (body: string) => {
      const ip = request.socket.remoteAddress ?? ''
      const asked = { id, ip, dialect: this.environment.DIALECT, body }
      recovered(
        () => this.endpoint.serve(asked, response, (answer, view) => this.send(response, id, answer, view)),
        refuse,
      )
    }
    if (this.environment.FREE_RATE_LIMIT === 0) receive(request, length, answer)
    else this.freeRate.take(request.socket.remoteAddress ?? '').then(() => receive(request, length, answer), refuse)
  }

  private send(response: ServerResponse, id: string, { status, body }: RpcAnswer, { standing }: RequestView): void {
    const headers = ['x-request-id', id]
    if (standing !== undefined) headers.push(STATE_HEADER, standingToHeader(standing))
    if (body === undefined) {
      response.writeHead(status, headers).end()
      return
    }
    let [bytes, length] = [0, 0]
    for (const part of body) {
      bytes += Buffer.byteLength(part)
      length += part.length
    }
    this.buffered.hold(bytes, response)
    headers.push('content-type', ANSWER_TYPE, 'content-length', String(bytes))
    response.writeHead(status, headers)
    // Nothing but ASCII is the same in both, and faster to write in the one.
    const encoding = bytes === length ? 'latin1' : 'utf8'
    const last = body.length - 1
    if (last > 0) response.cork()
    for (let index = 0; index < last; index++) response.write(body[index], encoding)
    response.end(body[last], encoding)
    if (last > 0) response.uncork()
  }

  private refuse(thrown: unknown, id: string, response: ServerResponse): void {
    const refusal = response.headersSent ? undefined : this.refusals.of(thrown, { id, url: '/' })
    if (refusal === undefined) return
    const { status, headers, body } = refusal
    const length = Buffer.byteLength(body)
    response.writeHead(status, { 'x-request-id': id, ...headers, 'content-length': length }).end(body)
  }
}

/** Hands on a body of `length` bytes, at once where it comes in one piece. One that is cut short is nobody's. */
function receive(request: IncomingMessage, length: number, take: (body: string) => void): void {
  let chunks: Buffer[] | undefined
  let received = 0
  request.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (received === length && chunks === undefined) return take(chunk.toString())
    chunks ??= []
    chunks.push(chunk)
    if (received === length) take(Buffer.concat(chunks).toString())
  })
}

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable } from '@nestjs/common'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ClientGone, Overloaded, RateLimited, refused } from '../limits/refused.js'
import { ETHEREUM_PATH } from '../requests/request.js'
import { failureBody, failureOf } from '../rpc/failure.js'
import { Telemetry } from '../telemetry/telemetry.js'

/** The answer to a request that is refused as a whole: a JSON-RPC error with `id` null, which JSON-RPC clients can read. */
export interface Refusal {
  status: number
  headers: Record<string, string>
  body: string
}

@Injectable()
export class Refusals {
  constructor(private readonly telemetry: Telemetry) {}

  /** Counts and logs the refusal. Returns undefined if the client has gone. */
  of(thrown: unknown, request: { id: string; url: string }): Refusal | undefined {
    if (thrown instanceof ClientGone) return undefined
    const error = refusalOf(thrown, request.url)
    const status = error.httpStatus
    const err = status >= 500 && !(thrown instanceof RpcError) ? thrown : undefined
    this.telemetry.tell('request.refused', { status, requestId: request.id, err })
    const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
    if (error instanceof Overloaded || error instanceof RateLimited)
      headers['retry-after'] = String(error.retryAfterSeconds)
    if (status === 405) headers.allow = 'POST'
    if (status === 401) headers['www-authenticate'] = 'Bearer'
    return { status, headers, body: failureBody(null, failureOf(error)) }
  }
}

const JSON_RPC_BY_POST =
  'send JSON-RPC 2.0 by POST with content-type application/json, e.g. {"jsonrpc":"2.0","id":1,"method":"rpc.discover"}; viem, ethers, alloy, go-ethereum and web3.py take the URL with /ethereum'
const MCP_BY_POST =
  "the HTTP+SSE transport of MCP 2024-11-05 is not served: set the client's transport to streamable HTTP, which sends each message by POST to /mcp"

/** What to send by POST instead, by path. Clients of MCP 2024-11-05 start with GET; there are no sessions to end by DELETE. */
const BY_POST: ReadonlyMap<string | undefined, string> = new Map([
  ...['/', `/${ETHEREUM_PATH}`].map((path) => [path, JSON_RPC_BY_POST] as const),
  ...['/mcp', '/sse'].map((path) => [path, MCP_BY_POST] as const),
])

function refusalOf(thrown: unknown, url: string): RpcError {
  if (thrown instanceof RpcError) return thrown
  const status = statusOf(thrown)
  if (status === 404) {
    const byPost = BY_POST.get(url.split('?')[0])
    if (byPost !== undefined) return refused(405, byPost)
    return refused(
      404,
      'not found: send JSON-RPC by POST to / (to /ethereum with viem, ethers, alloy, go-ethereum and web3.py), or use /health/live, /health/ready or /metrics',
    )
  }
  if (status === 415) return refused(415, 'content-type: expected application/json')
  if (status >= 400 && status < 500)
    return refused(status, thrown instanceof Error ? thrown.message : 'the request is not valid')
  return new RpcError(ErrorCode.internalError, 'internal error', undefined, 500)
}

function statusOf(thrown: unknown): number {
  if (thrown instanceof HttpException) return thrown.getStatus()
  const status: unknown = thrown instanceof Error && 'statusCode' in thrown ? thrown.statusCode : undefined
  return typeof status === 'number' ? status : 500
}

/** Answers requests that have no handler, or whose handler threw. */
@Catch()
export class RefusalFilter implements ExceptionFilter {
  constructor(private readonly refusals: Refusals) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>()
    const reply = host.switchToHttp().getResponse<FastifyReply>()
    if (reply.sent) return
    const refusal = this.refusals.of(thrown, request)
    if (refusal !== undefined) reply.code(refusal.status).headers(refusal.headers).send(refusal.body)
  }
}

/** Answers a URL that cannot be decoded, which no route sees. */
export function answerBrokenUrl(_error: Error, { id }: FastifyRequest, reply: FastifyReply): void {
  reply
    .code(400)
    .headers({ 'content-type': 'application/json; charset=utf-8', 'x-request-id': id })
    .send(failureBody(null, failureOf(refused(400, 'the path is not a valid URL'))))
}

/** Answers input that is not valid HTTP or did not arrive in time: no handler sees it. Then closes the connection. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, message]: [number, string] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? [408, 'the request did not arrive in time']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? [431, 'the headers are too long']
        : [400, 'the request is not valid HTTP']
  const body = failureBody(null, failureOf(refused(status, message)))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  socket.destroySoon()
}

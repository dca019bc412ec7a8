import { Injectable } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import type { RpcError } from '@upfront/protocol'
import type { FastifyRequest } from 'fastify'
import { CALLER_HEADERS } from '../callers/callers.js'
import type { Request } from '../requests/request.js'

/** Who calls a tool. */
export interface ToolCaller {
  /** Of the MCP message. */
  request: FastifyRequest
  own: Request
  /** Why it is not free. */
  refusal: RpcError | undefined
  /** Aborts when the caller is gone. */
  signal: AbortSignal
}

export interface OwnRequest {
  method: 'GET' | 'POST'
  path: string
  /** JSON. */
  body?: unknown
  /** An x402 `PaymentPayload`, as the caller sent it. */
  payment?: unknown
}

export interface OwnAnswer {
  status: number
  headers: Record<string, unknown>
  body: string
}

/**
 * Asks the gateway's own HTTP routes, without a connection, in the caller's name: so the limits, the payments and the
 * refusals of a tool are those of the route behind it.
 */
@Injectable()
export class OwnRoutes {
  constructor(private readonly adapterHost: HttpAdapterHost<FastifyAdapter>) {}

  /** Rejects once `signal` aborts. */
  async ask({ method, path, body, payment }: OwnRequest, { request, signal }: ToolCaller): Promise<OwnAnswer> {
    const forwarded = request.headers['x-forwarded-for']
    const answer = await this.adapterHost.httpAdapter.getInstance().inject({
      method,
      url: path,
      signal,
      remoteAddress: request.socket.remoteAddress ?? '',
      headers: {
        'x-request-id': request.id,
        ...(request.headers.host === undefined ? {} : { host: request.headers.host }),
        ...pick(request.headers, CALLER_HEADERS),
        ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(payment === undefined ? {} : { 'payment-signature': base64(payment) }),
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    })
    return { status: answer.statusCode, headers: answer.headers, body: answer.payload }
  }
}

function pick(headers: FastifyRequest['headers'], names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])))
}

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

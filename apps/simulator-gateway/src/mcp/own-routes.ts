import { Injectable } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import type { RpcError } from '@upfront/protocol'
import type { FastifyRequest } from 'fastify'
import { CALLER_HEADERS } from '../callers/callers.js'
import type { Request } from '../requests/request.js'

/** The request that a tool is called in. */
export interface ToolCaller {
  /** The HTTP request of the MCP message. */
  request: FastifyRequest
  own: Request
  /** Why the call is not free. */
  refusal: RpcError | undefined
  /** Aborts when the caller disconnects. */
  signal: AbortSignal
}

export interface OwnRequest {
  method: 'GET' | 'POST'
  path: string
  /** Sent as JSON. */
  body?: unknown
  /** An x402 `PaymentPayload`, unchanged from the caller. */
  payment?: unknown
}

export interface OwnAnswer {
  status: number
  headers: Record<string, unknown>
  body: string
}

/**
 * Calls the gateway's own HTTP routes in the caller's name, without a connection: a tool has the limits, payments and errors of its route.
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

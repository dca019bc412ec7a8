import { HttpException, Inject, Injectable } from '@nestjs/common'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { Logger } from 'pino'
import { LOGGER } from '../logger.js'
import { Metrics } from '../metrics/metrics.js'
import { failureBody, failureOf } from '../rpc/failure.js'
import { RateLimited } from './free-rate-limit.js'
import { Overloaded } from './overloaded.js'
import { ClientGone } from './request-lifetime.js'

/** What answers a request that no handler answered: JSON-RPC with `id` null, as that is what its clients can read. */
export interface Refusal {
  status: number
  headers: Record<string, string>
  body: string
}

@Injectable()
export class Refusals {
  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  /** Counts and logs the refusal. Undefined where nobody waits for it. */
  of(thrown: unknown, request: { id: string; url: string }): Refusal | undefined {
    if (thrown instanceof ClientGone) return undefined
    const error = refusalOf(thrown, request.url)
    const status = error.httpStatus
    if (status >= 500 && !(thrown instanceof RpcError)) {
      this.logger.error({ requestId: request.id, err: thrown }, 'internal error')
    }
    this.metrics.refused(status)
    const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
    if (error instanceof Overloaded || error instanceof RateLimited)
      headers['retry-after'] = String(error.retryAfterSeconds)
    if (status === 405) headers.allow = 'POST'
    return { status, headers, body: failureBody(null, failureOf(error)) }
  }
}

function refusalOf(thrown: unknown, url: string): RpcError {
  if (thrown instanceof RpcError) return thrown
  const status = statusOf(thrown)
  const invalid = (message: string) => new RpcError(ErrorCode.invalidRequest, message, undefined, status)
  if (status === 404) {
    const [path] = url.split('?')
    if (path === '/') {
      return new RpcError(
        ErrorCode.invalidRequest,
        'send JSON-RPC 2.0 by POST with content-type application/json, e.g. {"jsonrpc":"2.0","id":1,"method":"rpc.discover"}',
        undefined,
        405,
      )
    }
    return invalid('nothing is served here: JSON-RPC by POST at /, else /health/live, /health/ready and /metrics')
  }
  if (status === 415) return invalid('content-type: expected application/json')
  if (status >= 400 && status < 500) return invalid(thrown instanceof Error ? thrown.message : 'not a valid request')
  return new RpcError(ErrorCode.internalError, 'internal error', undefined, 500)
}

function statusOf(thrown: unknown): number {
  if (thrown instanceof HttpException) return thrown.getStatus()
  const status: unknown = thrown instanceof Error && 'statusCode' in thrown ? thrown.statusCode : undefined
  return typeof status === 'number' ? status : 500
}

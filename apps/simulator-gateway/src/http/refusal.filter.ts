import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Inject } from '@nestjs/common'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { LOGGER } from '../logger.js'
import { Metrics } from '../metrics/metrics.js'
import { failureBody, failureOf } from '../rpc/failure.js'
import { RateLimited } from './free-rate-limit.js'
import { Overloaded } from './overloaded.js'
import { ClientGone } from './request-lifetime.js'

/** Answers what no handler answered, as JSON-RPC with `id` null: that is what its clients can read. */
@Catch()
export class RefusalFilter implements ExceptionFilter {
  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>()
    const reply = host.switchToHttp().getResponse<FastifyReply>()
    if (thrown instanceof ClientGone || reply.sent) return
    const error = refusalOf(thrown, request)
    if (error.httpStatus >= 500 && !(thrown instanceof RpcError)) {
      this.logger.error({ requestId: request.id, err: thrown }, 'internal error')
    }
    this.metrics.refused(error.httpStatus)
    if (error instanceof Overloaded || error instanceof RateLimited) {
      reply.header('retry-after', String(error.retryAfterSeconds))
    }
    if (error.httpStatus === 405) reply.header('allow', 'POST')
    reply.code(error.httpStatus).header('content-type', 'application/json; charset=utf-8')
    reply.send(failureBody(null, failureOf(error)))
  }
}

function refusalOf(thrown: unknown, request: FastifyRequest): RpcError {
  if (thrown instanceof RpcError) return thrown
  const status = statusOf(thrown)
  const invalid = (message: string) => new RpcError(ErrorCode.invalidRequest, message, undefined, status)
  if (status === 404) {
    const [path] = request.url.split('?')
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

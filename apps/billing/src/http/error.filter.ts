import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Inject } from '@nestjs/common'
import { type BillingErrorBody, type BillingErrorCode, DecodeError } from '@upfront/protocol'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NodeBusy, NodeFault, NodeRefusal } from '../chain/node-error.js'
import { BillingError } from '../payments/billing-error.js'

/** SQLSTATE classes (lost connection, shutdown, exhausted resources, disk error, read-only server) and Node's error codes. */
const UNAVAILABLE_CODES = /^(08|25006|53|57P|58|40001|40P01|ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN)/
const UNAVAILABLE_MESSAGES =
  /Connection terminated|connection timeout|trying to connect|Query read timeout|not queryable|PGlite is closed|Cannot use a pool after/i
const RETRY_AFTER_SECONDS = 1
/** Work that waits for a hanging node ends within this time. */
const BUSY_SECONDS = 20

/** Converts every failure to the API's error body. Error texts of libraries go to the log only. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>()
    const request = host.switchToHttp().getRequest<FastifyRequest>()
    const failure = describe(error)
    if (failure.status >= 500) {
      const ids = { requestId: request.id, route: request.routeOptions.url, reason: errorText(error) }
      this.logger[failure.code === 'unavailable' ? 'warn' : 'error'](ids, 'a request failed')
    }
    if (failure.code === 'unavailable') {
      void reply.header('retry-after', String(error instanceof NodeBusy ? BUSY_SECONDS : RETRY_AFTER_SECONDS))
    }
    const { code, message, field } = failure
    const body: BillingErrorBody = { error: { code, message, ...(field === undefined ? {} : { field }) } }
    void reply.status(failure.status).send(body)
  }
}

interface Failure {
  status: number
  code: BillingErrorCode
  message: string
  field?: string | undefined
}

function describe(error: unknown): Failure {
  if (error instanceof BillingError) return error
  if (error instanceof DecodeError) {
    return { status: 400, code: 'invalid_request', message: error.message, field: error.place }
  }
  if (error instanceof NodeBusy) {
    return { status: 503, code: 'unavailable', message: `${error.message}: nothing was reserved; try again later` }
  }
  if (error instanceof NodeFault || error instanceof NodeRefusal) {
    return { status: 503, code: 'unavailable', message: "the chain's node does not answer; try again later" }
  }
  if (isDatabaseOutage(error))
    return { status: 503, code: 'unavailable', message: 'the ledger is not reachable; try again later' }
  const status = error instanceof HttpException ? error.getStatus() : clientErrorStatus(error)
  if (status === 404) return { status, code: 'not_found', message: 'not found: there is no such route' }
  if (status !== null && status < 500) return { status, code: 'invalid_request', message: (error as Error).message }
  return { status: 500, code: 'internal', message: 'internal error' }
}

/** Status of errors raised by Fastify itself: invalid JSON, or a body that is too large. */
function clientErrorStatus(error: unknown): number | null {
  const status = (error as { statusCode?: unknown } | null)?.statusCode
  return typeof status === 'number' && status >= 400 ? status : null
}

function isDatabaseOutage(error: unknown): boolean {
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = (cause as { cause?: unknown }).cause) {
    const { code, message } = cause as { code?: unknown; message?: unknown }
    if (typeof code === 'string' && UNAVAILABLE_CODES.test(code)) return true
    if (UNAVAILABLE_MESSAGES.test(String(message))) return true
  }
  return false
}

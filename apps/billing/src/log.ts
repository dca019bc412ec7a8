import type { LoggerService } from '@nestjs/common'
import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/** Structured logs on standard output. What is passed in holds ids and reasons; keys, signatures and payloads never are. */
export function createLog(level: string, destination: DestinationStream = pino.destination(1)): Log {
  return pino({ level, base: { service: 'billing' }, timestamp: pino.stdTimeFunctions.isoTime }, destination)
}

/** Nest's own lines through the same log. */
export function nestLogger(log: Log): LoggerService {
  const text = (message: unknown) => (message instanceof Error ? message.message : String(message))
  return {
    log: (message, context) => log.debug({ context }, text(message)),
    warn: (message, context) => log.warn({ context }, text(message)),
    error: (message) => log.error({}, text(message)),
    fatal: (message) => log.fatal({}, text(message)),
    debug: (message, context) => log.trace({ context }, text(message)),
    verbose: (message, context) => log.trace({ context }, text(message)),
  }
}

/** A message that is safe to log: a query's parameters (signatures among them) stay out of it. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.cause instanceof Error && error.message.startsWith('Failed query')) return errorText(error.cause)
  return error.message.split('\n', 1)[0] ?? error.name
}

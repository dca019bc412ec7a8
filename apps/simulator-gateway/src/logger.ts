import type { LoggerService } from '@nestjs/common'
import { type Logger, pino } from 'pino'

/** Injection token of the process's pino logger. */
export const LOGGER = Symbol('LOGGER')

export function createLogger(level: string): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime })
}

/** Nest's own messages: its warnings and errors as they are, its start-up chatter at debug. */
export function nestLogger(logger: Logger): LoggerService {
  return {
    log: (message: unknown) => logger.debug(entryOf(message)),
    verbose: (message: unknown) => logger.trace(entryOf(message)),
    debug: (message: unknown) => logger.debug(entryOf(message)),
    warn: (message: unknown) => logger.warn(entryOf(message)),
    error: (message: unknown, stack?: unknown) => logger.error({ stack, ...entryOf(message) }),
    fatal: (message: unknown) => logger.fatal(entryOf(message)),
  }
}

/** Libraries log words or fields. */
function entryOf(message: unknown): object {
  if (typeof message !== 'object' || message === null) return { msg: String(message) }
  const { message: msg, ...fields } = message as { message?: unknown }
  return msg === undefined ? fields : { ...fields, msg }
}

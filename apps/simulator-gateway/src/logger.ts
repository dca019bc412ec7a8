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
    log: (message: unknown) => logger.debug(String(message)),
    verbose: (message: unknown) => logger.trace(String(message)),
    debug: (message: unknown) => logger.debug(String(message)),
    warn: (message: unknown) => logger.warn(String(message)),
    error: (message: unknown, stack?: unknown) => logger.error({ stack }, String(message)),
    fatal: (message: unknown) => logger.fatal(String(message)),
  }
}

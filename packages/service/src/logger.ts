import type { LoggerService } from '@nestjs/common'
import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

/** Injection token of the process's logger. */
export const LOGGER = Symbol('LOGGER')

/** Fields that may hold secrets; removed at the top level and one level down. */
const SECRET_FIELDS = [
  'authorization',
  'privateKey',
  'token',
  'signature',
  'paymentPayload',
  '["payment-signature"]',
  '["x-payment"]',
]

export interface LoggerOptions {
  level: string
  /** Fields of every line. */
  base?: Record<string, string>
  /** Returns further fields for the line being written, from the current context. */
  mixin?: (() => object) | undefined
  /** Standard output by default. */
  destination?: DestinationStream
}

/** Logs JSON lines. Fields that may hold a secret are removed. */
export function createLogger({ level, base, mixin, destination = pino.destination(1) }: LoggerOptions): Logger {
  const nested = SECRET_FIELDS.map((field) => (field.startsWith('[') ? `*${field}` : `*.${field}`))
  return pino(
    {
      level,
      base: base ?? null,
      ...(mixin && { mixin }),
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: [...SECRET_FIELDS, ...nested], remove: true },
    },
    destination,
  )
}

/** Adapts the logger for Nest: warnings and errors keep their level, start-up messages become debug. */
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

/** Log fields of a message: libraries pass text, fields or errors. */
function entryOf(message: unknown): object {
  if (message instanceof Error) return { msg: errorText(message) }
  if (typeof message !== 'object' || message === null) return { msg: String(message) }
  const { message: msg, ...fields } = message as { message?: unknown }
  return msg === undefined ? fields : { ...fields, msg }
}

/** The first line of an error's message, without the parameters of a failed query: they may hold signatures. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.cause instanceof Error && error.message.startsWith('Failed query')) return errorText(error.cause)
  return error.message.split('\n', 1)[0] ?? error.name
}

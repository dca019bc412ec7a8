import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { createLogger, type Logger, listen, nestLogger, requestId, startTracing } from '@upfront/service'
import { AppModule } from './app.module.js'
import { ENGINE, type EngineChoice } from './environment/engine-choice.js'
import { Environment } from './environment/environment.js'
import { FIXED } from './environment/fixed.js'
import { answerBrokenRequest, answerBrokenUrl } from './http/refusals.js'
import { STATE_HEADER } from './pending/answer-state.js'

/** Connections are closed after this long without traffic in either direction, or after twice `timeoutMs` if that is longer. */
const SILENT_CONNECTION_MS = 60_000

export interface Gateway {
  /** The URL it listens on, with the actual port if 0 was requested. */
  url: string
  /** The start-up message: URL and engine. */
  greeting: string
  logger: Logger
  /** Stops accepting connections, finishes requests in flight (at most `SHUTDOWN_TIMEOUT_MS`), then stops everything it started. */
  close(): Promise<void>
}

/** The HTTP adapter with its time-outs and trusted proxies. */
export function createAdapter(environment: Environment): FastifyAdapter {
  const { LIMITS, TRUSTED_PROXIES } = environment
  return new FastifyAdapter({
    skipMiddie: true,
    exposeHeadRoutes: true,
    genReqId: requestId,
    requestTimeout: FIXED.bodyMs,
    connectionTimeout: Math.max(SILENT_CONNECTION_MS, 2 * LIMITS.timeoutMs),
    // Node reads time-outs only when it creates the server.
    http: {
      requestTimeout: FIXED.bodyMs,
      headersTimeout: FIXED.bodyMs,
      connectionsCheckingInterval: Math.min(1_000, FIXED.bodyMs),
    },
    trustProxy: TRUSTED_PROXIES ?? false,
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: answerBrokenUrl,
  })
}

/** @throws Error that names `GATEWAY_PORT` if the port is in use */
export async function startGateway(environment: Environment): Promise<Gateway> {
  const tracing = await startTracing('upfront-gateway')
  const logger = createLogger({ level: environment.LOG_LEVEL, mixin: tracing?.logFields })
  const adapter = createAdapter(environment)
  // Trusts only requests that came through a trusted proxy.
  tracing?.serve(adapter.getInstance(), ({ ips = [] }) => ips.length > 1)
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(environment, logger), adapter, {
    bodyParser: false,
    logger: nestLogger(logger),
    abortOnError: false,
  })
  allowOrigins(app, environment)
  const url = await listen(app, {
    port: environment.GATEWAY_PORT,
    host: environment.GATEWAY_HOST,
    variables: { port: 'GATEWAY_PORT', host: 'GATEWAY_HOST' },
  })
  const { engine, reason, standsIn } = app.get<EngineChoice>(ENGINE, { strict: false })
  const running = { engine: engine.name, version: engine.version, reason }
  if (standsIn)
    logger.warn(running, 'serving with the portable engine, which is up to four times slower than the native one')
  else logger.info(running, 'serving with this engine')
  const greeting = `Upfront's gateway listens on ${url} (${engine.name} ${engine.version})`
  return { url, greeting, logger, close: () => app.close().finally(() => tracing?.close()) }
}

function allowOrigins(app: NestFastifyApplication, { CORS_ORIGINS: origins }: Environment): void {
  if (origins === undefined) return
  app.enableCors({
    origin: origins[0] === '*' ? '*' : origins,
    exposedHeaders: ['x-request-id', STATE_HEADER, 'retry-after', 'payment-required', 'payment-response'],
  })
}

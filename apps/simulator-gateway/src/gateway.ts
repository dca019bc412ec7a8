import { STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { Front } from '@upfront/fast-http'
import { recovered } from '@upfront/node'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { Logger } from 'pino'
import { AppModule } from './app.module.js'
import { Environment } from './environment.js'
import { acceptJsonBodies } from './http/body.js'
import { BufferedBytes } from './http/buffered-bytes.js'
import { FreeRateLimit } from './http/free-rate-limit.js'
import { requestId } from './http/request-id.js'
import { createLogger, LOGGER, nestLogger } from './logger.js'
import { dialectOf } from './rpc/dialect.js'
import { failureBody, failureOf } from './rpc/failure.js'
import { PlainFront } from './rpc/plain-front.js'
import { RpcEndpoint } from './rpc/rpc.endpoint.js'
import { sendAnswer } from './rpc/send-answer.js'
import { ENGINE, type EngineChoice } from './simulate/engine-choice.js'
import { Simulator } from './simulate/simulator.js'

const SOCKET_SWEEP_MS = 100
/** A connection on which nothing moves, in neither direction. */
const SILENT_CONNECTION_MS = 60_000

export interface Gateway {
  app: NestFastifyApplication
  /** Where it listens, with the real port where 0 was asked for. */
  url: string
  /** The line that says so, with the engine. */
  greeting: string
  logger: Logger
  /** Takes no new connections, finishes what is in flight (`SHUTDOWN_TIMEOUT_MS` at most), then ends all it started. */
  close(): Promise<void>
}

/** The Nest application on Fastify, ready to listen. */
export async function createGateway(environment: Environment): Promise<NestFastifyApplication> {
  const arrival = environment.BODY_TIMEOUT_MS
  const adapter = new FastifyAdapter({
    skipMiddie: true,
    exposeHeadRoutes: true,
    genReqId: requestId,
    requestTimeout: arrival,
    connectionTimeout: Math.max(SILENT_CONNECTION_MS, 2 * environment.REQUEST_TIMEOUT_MS),
    // Node takes the time-outs only as it makes the server.
    http: { requestTimeout: arrival, headersTimeout: arrival, connectionsCheckingInterval: Math.min(1_000, arrival) },
    trustProxy: environment.TRUSTED_PROXIES ?? false,
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
  })
  const logger = createLogger(environment.LOG_LEVEL)
  const module = AppModule.forRoot(environment, logger)
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    bodyParser: false,
    logger: nestLogger(logger),
    abortOnError: false,
  })
  if (environment.CORS_ORIGINS !== undefined) {
    const [first] = environment.CORS_ORIGINS
    app.enableCors({
      origin: first === '*' ? '*' : environment.CORS_ORIGINS,
      exposedHeaders: ['x-request-id', 'payment-required', 'payment-response'],
    })
  }
  const server = adapter.getInstance()
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  if (environment.FREE_RATE_LIMIT > 0) {
    const limit = app.get(FreeRateLimit)
    server.addHook('onRequest', async (request) => {
      if (request.method === 'POST' && request.routeOptions.url === '/') await limit.take(request.ip)
    })
  }
  acceptJsonBodies(server, environment.MAX_BODY_BYTES, app.get(BufferedBytes))
  const endpoint = app.get(RpcEndpoint)
  const buffered = app.get(BufferedBytes)
  server.post('/', (request, reply) => {
    const dialect = dialectOf(request.query, environment.DIALECT)
    const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
    return endpoint.serve({ id: request.id, ip: request.ip, dialect, body }, reply.raw, (answer, view) =>
      sendAnswer(reply, answer, view, buffered),
    )
  })
  return app
}

/** @throws Error naming `GATEWAY_PORT` where the port is taken */
export async function startGateway(environment: Environment): Promise<Gateway> {
  const app = await createGateway(environment)
  const logger = app.get<Logger>(LOGGER)
  const plain = app.get(PlainFront).standBefore(app.getHttpServer())
  try {
    await app.listen(environment.GATEWAY_PORT, environment.GATEWAY_HOST)
  } catch (error) {
    await app.close()
    throw listenProblem(error, environment)
  }
  const { port } = app.getHttpServer().address() as AddressInfo
  const host = environment.GATEWAY_HOST.includes(':') ? `[${environment.GATEWAY_HOST}]` : environment.GATEWAY_HOST
  const url = `http://${host}:${port}`
  const { engine, reason, standsIn } = app.get<EngineChoice>(ENGINE)
  const running = { engine: engine.name, version: engine.version, reason }
  if (standsIn) logger.warn(running, 'the portable engine serves, a hundred times slower than the native one')
  else logger.info(running, 'the engine')
  void recovered<unknown>(
    () => app.get(Simulator).rehearse(),
    (error) => logger.warn({ reason: failureOf(error).error.message }, 'no simulation succeeds yet'),
  )
  const greeting = `Upfront's gateway listens on ${url} (${engine.name} ${engine.version})`
  const end = () => close(app, plain, environment.SHUTDOWN_TIMEOUT_MS, logger)
  return { app, url, greeting, logger, close: end }
}

async function close(app: NestFastifyApplication, plain: Front, timeoutMs: number, logger: Logger): Promise<void> {
  const server = app.getHttpServer()
  const closeIdle = () => {
    server.closeIdleConnections()
    plain.closeIdle()
  }
  const sweep = setInterval(closeIdle, SOCKET_SWEEP_MS)
  const timer = setTimeout(() => {
    logger.warn(`requests were still in flight ${timeoutMs} ms after the signal to end: they are cut off`)
    server.closeAllConnections()
    plain.closeAll()
  }, timeoutMs)
  try {
    await app.close()
  } finally {
    clearInterval(sweep)
    clearTimeout(timer)
  }
}

function listenProblem(error: unknown, environment: Environment): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const { GATEWAY_HOST: host, GATEWAY_PORT: port } = environment
  if (code === 'EADDRINUSE') return new Error(`port ${port} on ${host} is in use: set GATEWAY_PORT to another`)
  if (code === 'EACCES') return new Error(`port ${port} may not be opened by this user: set GATEWAY_PORT to another`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new Error(`${host} is no address of this machine: set GATEWAY_HOST to another`)
  }
  return error
}

/** What is not HTTP, or did not arrive in time, never reaches a handler. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, message] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? [408, 'the request did not arrive in time']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? [431, 'the headers are too long']
        : [400, 'the request is not valid HTTP']
  const body = failureBody(null, failureOf(new RpcError(ErrorCode.invalidRequest, message)))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

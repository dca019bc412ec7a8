import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { BillingErrorBody } from '@upfront/protocol'
import { type Logger, listen, nestLogger, requestId, type Tracing } from '@upfront/service'
import type { FastifyReply } from 'fastify'
import { AppModule } from './app.module.js'
import type { Environment } from './environment/environment.js'
import { digestOf, hasToken } from './http/service-token.guard.js'
import { BillingMetrics } from './metrics.js'

/** A signed payload is under 2 KB; an ERC-6492 signature may contain a factory call. */
const BODY_LIMIT_BYTES = 128 * 1024

export interface Billing {
  /** `http://<host>:<port>` */
  url: string
  logger: Logger
  close(): Promise<void>
}

/**
 * Starts the service: recovers open work, then listens.
 * @throws Error if the ledger can't be opened, a node serves another chain, a token does not move exact amounts, or the port is in use
 */
export async function startBilling(environment: Environment, logger: Logger, tracing?: Tracing): Promise<Billing> {
  const adapter = new FastifyAdapter({
    bodyLimit: BODY_LIMIT_BYTES,
    // Payers choose the names in their extensions. JSON.parse makes them plain fields, so bodies are decoded as they are.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    genReqId: requestId,
    logger: false,
    frameworkErrors: refuseUrl,
  })
  // A seller's own services, such as the gateway, have decided already what is traced.
  const service = digestOf(environment.BILLING_TOKEN)
  tracing?.serve(adapter.getInstance(), (request) => hasToken(request, service))
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(environment, logger), adapter, {
    logger: nestLogger(logger),
    abortOnError: false,
    forceCloseConnections: true,
  })
  logRequests(app, logger)
  const url = await listen(app, {
    port: environment.BILLING_PORT,
    host: environment.BILLING_HOST,
    variables: { port: 'BILLING_PORT', host: 'BILLING_HOST' },
  })
  const networks = environment.CHAINS.map(({ network }) => network)
  const signers = environment.signers.map(({ address }) => address)
  const store = environment.DATABASE_URL === undefined ? 'pglite' : 'postgres'
  logger.info({ url, networks, signers, store }, 'billing listens')
  return { url, logger, close: () => app.close().finally(() => tracing?.close()) }
}

/** Answers a malformed URL without echoing it, as Fastify would: the path may contain a seller's token. */
function refuseUrl(_error: Error, _request: unknown, reply: Pick<FastifyReply, 'status'>): void {
  const body: BillingErrorBody = { error: { code: 'invalid_request', message: 'the path is not a valid URL' } }
  void reply.status(400).send(body)
}

function logRequests(app: NestFastifyApplication, logger: Logger): void {
  const { requestSeconds } = app.get(BillingMetrics)
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onResponse', (request, reply, done) => {
      const route = request.routeOptions.url ?? 'none'
      const status = reply.statusCode
      requestSeconds.observe({ route, status }, reply.elapsedTime / 1_000)
      const { method, id } = request
      logger.debug({ requestId: id, method, route, status, milliseconds: Math.round(reply.elapsedTime) }, 'request')
      done()
    })
}

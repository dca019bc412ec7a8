import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { AppModule } from './app.module.js'
import { Chains } from './chain/chains.js'
import { NodeFault, WrongChain } from './chain/node-error.js'
import type { BillingEnvironment } from './environment/environment.js'
import { Metrics } from './health/metrics.js'
import { type Log, nestLogger } from './log.js'
import { Recovery } from './settle/recovery.js'
import { Settler } from './settle/settler.js'

/** A payload with its signature is under 2 KB; an ERC-6492 signature may carry a factory call. */
const BODY_LIMIT_BYTES = 128 * 1024

export interface Billing {
  /** `http://<host>:<port>` */
  url: string
  close(): Promise<void>
}

/** Starts the service: recovers what was left, then listens. Throws where the ledger can't be opened or a node is of another chain. */
export async function startBilling(environment: BillingEnvironment, log: Log): Promise<Billing> {
  const adapter = new FastifyAdapter({ bodyLimit: BODY_LIMIT_BYTES, genReqId: () => randomUUID(), logger: false })
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(environment, log), adapter, {
    logger: nestLogger(log),
    abortOnError: false,
    forceCloseConnections: true,
  })
  try {
    logRequests(app, log)
    await refuseWrongChains(app.get(Chains), log)
    app.get(Settler).start()
    await app.get(Recovery).start()
    await app.listen(environment.port, environment.host)
  } catch (error) {
    await app.close()
    throw error
  }
  const { port } = app.getHttpServer().address() as AddressInfo
  const url = `http://${environment.host.includes(':') ? `[${environment.host}]` : environment.host}:${port}`
  const networks = environment.chains.map(({ network }) => network)
  const signers = environment.signers.map(({ address }) => address)
  log.info(
    { url, networks, signers, store: environment.databaseUrl === undefined ? 'pglite' : 'postgres' },
    'billing listens',
  )
  return { url, close: () => app.close() }
}

function logRequests(app: NestFastifyApplication, log: Log): void {
  const { requestSeconds } = app.get(Metrics)
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onResponse', (request, reply, done) => {
      const route = request.routeOptions.url ?? 'none'
      const status = reply.statusCode
      requestSeconds.observe({ route, status }, reply.elapsedTime / 1_000)
      const { method, id: requestId } = request
      log.debug({ requestId, method, route, status, milliseconds: Math.round(reply.elapsedTime) }, 'request')
      done()
    })
}

/** A wrong `rpcUrl` would let signatures be checked on one chain and settled on another. */
async function refuseWrongChains(chains: Chains, log: Log): Promise<void> {
  for (const { network, node } of chains.all()) {
    await node.request('eth_chainId', []).catch((error: unknown) => {
      if (error instanceof WrongChain) throw new Error(`CHAINS["${network}"].rpcUrl: ${error.message}`)
      if (!(error instanceof NodeFault)) throw error
      log.warn({ network, problem: error.message }, 'the node does not answer yet')
    })
  }
}

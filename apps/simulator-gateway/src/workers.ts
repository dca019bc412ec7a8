import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { createLogger, errorText, type Logger } from '@upfront/service'
import { AggregatorRegistry } from 'prom-client'
import { RateLimiterClusterMaster } from 'rate-limiter-flexible'
import { type Environment, readGatewayEnvironment } from './environment/environment.js'
import { shareOf } from './environment/share-of.js'
import type { Gateway } from './gateway.js'
import type { ToPrimary, ToWorker } from './ops/workers-metrics.js'
import { SCORER, type TruthMessage, workerNumber } from './truth/scored-truth.js'

const RESTART_AFTER_MS = 1_000

export interface Workers {
  greeting: string
  logger: Logger
  close(): Promise<void>
}

/**
 * Starts `GATEWAY_WORKERS` processes that share the port, the free budgets and `/metrics`. A worker that exits is restarted.
 * @throws Error if one exits before it listens; it has written the reason to standard error
 */
export async function startWorkers(environment: Environment): Promise<Workers> {
  const logger = createLogger({ level: environment.LOG_LEVEL })
  const metrics = new AggregatorRegistry()
  let ending = false
  new RateLimiterClusterMaster()
  const workers = new Map<number, Worker>()

  /** Starts the worker, or a replacement of it. */
  const start = async (place: number): Promise<string> => {
    const worker = cluster.fork({ GATEWAY_WORKER: String(place) })
    workers.set(place, worker)
    const greeting = await greetingOf(worker)
    worker.on('message', (message: ToPrimary | TruthMessage) => {
      if (message.kind === 'metrics') void answer(worker, message.id)
      if (message.kind === 'truthAsked') pass(message, SCORER)
      if (message.kind === 'truthTold') pass(message, message.to)
      if (message.kind === 'waiting') for (const other of workers.keys()) if (other !== place) pass(message, other)
    })
    worker.once('exit', (code, signal) => {
      if (ending) return
      logger.error({ code, signal }, 'a worker exited; starting another')
      setTimeout(restart, RESTART_AFTER_MS, place)
    })
    return greeting
  }
  const restart = (place: number) => {
    if (ending) return
    start(place).catch((error) => {
      logger.error({ reason: errorText(error) }, 'a worker failed to start')
      setTimeout(restart, RESTART_AFTER_MS, place)
    })
  }
  const pass = (message: TruthMessage, place: number) => {
    const worker = workers.get(place)
    if (worker?.isConnected()) worker.send(message)
  }
  const answer = async (worker: Worker, id: number) => {
    // If a worker exits in the meantime, it gives no answer.
    const text = await metrics.clusterMetrics().catch(() => '')
    if (worker.isConnected()) worker.send({ kind: 'metrics', id, text } satisfies ToWorker)
  }

  const greetings = await Promise.all(
    Array.from({ length: environment.GATEWAY_WORKERS }, (_, index) => start(index + 1)),
  )
  const close = async () => {
    ending = true
    await Promise.all(
      Array.from(workers.values(), async (worker) => {
        worker.process.kill('SIGTERM')
        if (worker.process.exitCode === null) await once(worker, 'exit')
      }),
    )
  }
  return { greeting: `${greetings[0]} in ${greetings.length} processes`, logger, close }
}

function greetingOf(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.once('exit', (code) => reject(new Error(`a worker ended with ${code} before it listened`)))
    worker.on('message', (message: ToPrimary) => {
      if (message.kind === 'greeting') resolve(message.greeting)
    })
  })
}

/** Runs a worker with its share of the limits. The primary stops it by SIGTERM; SIGINT is ignored, because Ctrl-C reaches both. */
export async function runWorker(start: (environment: Environment) => Promise<Gateway>): Promise<void> {
  process.on('SIGINT', () => undefined)
  try {
    const gateway = await start(shareOf(readGatewayEnvironment(process.env), workerNumber()!))
    process.on('unhandledRejection', (error) =>
      gateway.logger.error({ reason: errorText(error) }, 'unhandled rejection'),
    )
    process.once('SIGTERM', () =>
      gateway.close().then(
        () => process.exit(0),
        () => process.exit(1),
      ),
    )
    process.send?.({ kind: 'greeting', greeting: gateway.greeting } satisfies ToPrimary)
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`)
    process.exit(1)
  }
}

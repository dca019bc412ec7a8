import 'reflect-metadata'
import { startBilling } from './billing.js'
import { EnvironmentError, readEnvironment } from './environment/environment.js'
import { createLog, errorText } from './log.js'

const log = createLog('info')

// The last net: a promise that a library left without a catch must not end the process that holds the ledger.
process.on('unhandledRejection', (error) => log.error({ problem: errorText(error) }, 'a promise was left rejected'))

try {
  const environment = readEnvironment(process.env)
  const billing = await startBilling(environment, createLog(environment.logLevel))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(billing.close))
} catch (error) {
  const problems = error instanceof EnvironmentError ? error.problems : [errorText(error)]
  for (const problem of problems) log.fatal({}, problem)
  process.exit(1)
}

async function stop(close: () => Promise<void>): Promise<void> {
  await close()
  process.exit(0)
}

import { createLogger, runUntilSignal, startTracing } from '@upfront/service'
import { startBilling } from './billing.js'
import { Environment, readBillingEnvironment } from './environment/environment.js'

await runUntilSignal(Environment, async () => {
  const environment = readBillingEnvironment(process.env)
  const tracing = await startTracing('upfront-billing')
  const { LOG_LEVEL: level } = environment
  const logger = createLogger({ level, base: { service: 'billing' }, mixin: tracing?.logFields })
  return startBilling(environment, logger, tracing)
})

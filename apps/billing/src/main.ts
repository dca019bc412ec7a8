import { createLogger, runUntilSignal } from '@upfront/service'
import { startBilling } from './billing.js'
import { Environment, readBillingEnvironment } from './environment/environment.js'

await runUntilSignal(Environment, async () => {
  const environment = readBillingEnvironment(process.env)
  return startBilling(environment, createLogger({ level: environment.LOG_LEVEL, base: { service: 'billing' } }))
})

import { runUntilSignal } from '@upfront/service'
import { Environment, readGatewayEnvironment } from './environment/environment.js'
import { startGateway } from './gateway.js'

await runUntilSignal(Environment, async () => {
  const gateway = await startGateway(readGatewayEnvironment(process.env))
  process.stdout.write(`${gateway.greeting}\n`)
  return gateway
})

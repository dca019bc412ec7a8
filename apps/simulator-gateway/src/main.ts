import { runUntilSignal } from '@upfront/service'
import { readGatewayEnvironment } from './environment/environment.js'
import { startGateway } from './gateway.js'

await runUntilSignal(async () => {
  const gateway = await startGateway(readGatewayEnvironment(process.env))
  process.stdout.write(`${gateway.greeting}\n`)
  return gateway
})

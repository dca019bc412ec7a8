import cluster from 'node:cluster'
import { runUntilSignal } from '@upfront/service'
import { Environment, readGatewayEnvironment } from './environment/environment.js'
import { startGateway } from './gateway.js'
import { runWorker, startWorkers } from './workers.js'

if (cluster.isWorker) {
  await runWorker(startGateway)
} else {
  await runUntilSignal(Environment, async () => {
    const environment = readGatewayEnvironment(process.env)
    const running = environment.GATEWAY_WORKERS > 1 ? await startWorkers(environment) : await startGateway(environment)
    process.stdout.write(`${running.greeting}\n`)
    return running
  })
}

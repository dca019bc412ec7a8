// Starts and stops gateways in this process, each with the environment of a message: see `startGateway` in gateway-process.ts.
import { readGatewayEnvironment } from '../dist/environment/environment.js'
import { startGateway } from '../dist/gateway.js'

const gateways = new Map()
process.on('message', async ({ id, environment }) => {
  try {
    if (environment === undefined) {
      await gateways.get(id).close()
      return process.send({ id })
    }
    const gateway = await startGateway(readGatewayEnvironment(environment))
    gateways.set(id, gateway)
    process.send({ id, url: gateway.url })
  } catch (error) {
    process.send({ id, error: error.message })
  }
})
// The parent process is gone.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

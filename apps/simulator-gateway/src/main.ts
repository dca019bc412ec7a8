import { EnvironmentError, readEnvironment } from './environment.js'
import { startGateway } from './gateway.js'

try {
  const gateway = await startGateway(readEnvironment(process.env))
  process.stdout.write(`${gateway.greeting}\n`)
  // A promise that nobody waits for any more must not take all other requests down.
  process.on('unhandledRejection', (error) => gateway.logger.error({ err: error }, 'unhandled rejection'))
  let ending = false
  const end = () => {
    if (ending) process.exit(1)
    ending = true
    gateway.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', end).on('SIGINT', end)
} catch (error) {
  const message = error instanceof EnvironmentError || !(error instanceof Error) ? String(error) : error.message
  process.stderr.write(`${message.replace(/^EnvironmentError: /, '')}\n`)
  process.exit(1)
}

import type { ClassConstructor } from 'class-transformer'
import { EnvironmentError } from './environment.js'
import { errorText, type Logger } from './logger.js'
import { findMisspellings, settingsHelp } from './settings-help.js'

/**
 * The body of a service's main file: starts the service and closes it on SIGINT or SIGTERM; a second signal exits at once. Writes to
 * standard error why it can't start, one bad variable per line, and warns of variables that look like misspelt settings. `--help`
 * lists the settings and exits.
 */
export async function runUntilSignal(
  settings: ClassConstructor<object>,
  start: () => Promise<{ logger: Logger; close(): Promise<void> }>,
): Promise<void> {
  if (process.argv.includes('--help')) {
    process.stdout.write(`${settingsHelp(settings)}\n`)
    return
  }
  for (const warning of findMisspellings(settings, process.env)) process.stderr.write(`${warning}\n`)
  try {
    const { logger, close } = await start()
    // An unhandled rejection must not end other requests.
    process.on('unhandledRejection', (error) => logger.error({ reason: errorText(error) }, 'unhandled rejection'))
    let ending = false
    const end = () => {
      if (ending) process.exit(1)
      ending = true
      close().then(
        () => process.exit(0),
        () => process.exit(1),
      )
    }
    process.on('SIGTERM', end).on('SIGINT', end)
  } catch (error) {
    const message = error instanceof EnvironmentError || !(error instanceof Error) ? error : error.message
    process.stderr.write(`${String(message).replace(/^EnvironmentError: /, '')}\n`)
    process.exit(1)
  }
}

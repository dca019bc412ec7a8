import type { ClassConstructor } from 'class-transformer'
import { EnvironmentError } from './environment.js'
import { errorText, type Logger } from './logger.js'
import { misspelt, settingsHelp } from './settings-help.js'

/**
 * The whole of a service's main file: starts it, and closes it at SIGINT or SIGTERM; a second signal ends the process at once.
 * What keeps it from starting goes to standard error, each bad variable on a line of its own, and so do variables that look like a
 * misspelt setting. `--help` lists the settings and ends.
 */
export async function runUntilSignal(
  settings: ClassConstructor<object>,
  start: () => Promise<{ logger: Logger; close(): Promise<void> }>,
): Promise<void> {
  if (process.argv.includes('--help')) {
    process.stdout.write(`${settingsHelp(settings)}\n`)
    return
  }
  for (const warning of misspelt(settings, process.env)) process.stderr.write(`${warning}\n`)
  try {
    const { logger, close } = await start()
    // A promise that nobody waits for any more must not end all other work.
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

import { ConsoleLogger } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { BillingFacilitator, FileJournal, type Log } from '@upfront/facilitator-adapter'
import { AppModule } from './app.module.js'
import { Connections } from './connections.js'
import { readEnvironment, settingsHelp } from './environment.js'

if (process.argv.includes('--help')) {
  process.stdout.write(`${settingsHelp()}\n`)
  process.exit(0)
}
try {
  const environment = readEnvironment(process.env)
  const logger = new ConsoleLogger({ json: true, logLevels: ['log', 'warn', 'error', 'fatal'] })
  const log: Log = (level, message, fields) =>
    logger[level === 'info' ? 'log' : level]({ message, ...fields }, 'Payments')
  const { JOURNAL_DIR } = environment
  const facilitator = new BillingFacilitator({
    url: environment.BILLING_URL,
    token: environment.BILLING_TOKEN,
    receiptWait: environment.RECEIPT_WAIT_MS,
    acknowledgementWait: environment.ACKNOWLEDGEMENT_WAIT_MS,
    ...(JOURNAL_DIR === undefined ? {} : { journal: new FileJournal(JOURNAL_DIR, log) }),
    log,
  })
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(environment, facilitator),
    new FastifyAdapter(),
    { logger, abortOnError: false },
  )
  const connections = new Connections(app.getHttpServer())
  await app.listen(environment.PORT, '127.0.0.1')
  process.stdout.write(`The metered seller listens on ${await app.getUrl()}\n`)

  let ending = false
  const end = async () => {
    if (ending) process.exit(1)
    ending = true
    connections.end()
    await app.close()
    await facilitator.close()
    process.exit(0)
  }
  process.on('SIGTERM', end).on('SIGINT', end)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}

import { type DynamicModule, Module, type OnApplicationShutdown } from '@nestjs/common'
import { BillingFacilitator, FileJournal, type Log } from '@upfront/facilitator-adapter'
import { type PaidRouteOptions, PaidRoutesModule, type PaymentRecord } from '@upfront/nestjs-x402'
import { LOGGER, type Logger } from '@upfront/service'
import { Environment } from '../environment/environment.js'
import { envelopeLimits } from '../rpc/rpc.service.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { PREVIEW_DISCOVERY, SIMULATE_DISCOVERY } from './discovery.js'
import { asksForReadsOnly } from './free-reads.js'
import { PaidSimulator } from './paid-simulator.js'
import { PaymentsController } from './payments.controller.js'
import { PreviewController } from './preview.controller.js'
import { IssuedReceipts, ReceiptIssuer } from './receipt-issuer.js'
import { SignIn } from './sign-in.js'
import { PLAIN, signedStatements } from './signed-statements.js'
import { SimulateController } from './simulate.controller.js'
import { WellKnownController } from './well-known.controller.js'
import { WitnessMaker } from './witness-maker.js'

/** The route's time-out must come after the simulation's own. */
const AFTER_TIMEOUT_MS = 2_000

/** Provides the client of billing at `BILLING_URL`. */
@Module({
  providers: [
    {
      provide: BillingFacilitator,
      inject: [Environment, LOGGER],
      useFactory: (
        { BILLING_URL: url = '', BILLING_TOKEN: token = '', CHARGE_JOURNAL_DIR }: Environment,
        logger: Logger,
      ) => {
        const log: Log = (level, message, fields) => logger[level](fields, message)
        const journal = CHARGE_JOURNAL_DIR === undefined ? {} : { journal: new FileJournal(CHARGE_JOURNAL_DIR, log) }
        return new BillingFacilitator({ url, token, log, ...journal })
      },
    },
  ],
  exports: [BillingFacilitator],
})
class FacilitatorModule implements OnApplicationShutdown {
  constructor(private readonly facilitator: BillingFacilitator) {}

  async onApplicationShutdown(): Promise<void> {
    await this.facilitator.close()
  }
}

/** The paid routes, configured by `BILLING_URL`, `BILLING_TOKEN`, `NETWORK`, `ASSET`, `PAY_TO` and `PRICE_LIST`. */
@Module({
  controllers: [SimulateController, PreviewController, PaymentsController, WellKnownController],
  providers: [PaidSimulator, ReceiptIssuer, IssuedReceipts, SignIn, WitnessMaker],
})
export class PaidModule {
  /** @param imports must export `Environment`, `LOGGER`, `Telemetry`, JSON-RPC with its limits, and the simulator */
  static importing(...imports: DynamicModule[]): DynamicModule {
    const facilitator = { module: FacilitatorModule, imports }
    const routes = PaidRoutesModule.forRootAsync({
      imports: [...imports, facilitator],
      inject: [BillingFacilitator, Environment, Telemetry],
      useFactory: (facilitator: BillingFacilitator, environment: Environment, telemetry: Telemetry) => {
        const routes = paidRoutes(environment)
        for (const route of Object.keys(routes))
          for (const outcome of OUTCOMES) telemetry.figures.payments.addMany(0, route, 'usage', outcome)
        return {
          facilitator,
          routes,
          onPayment: (record: PaymentRecord) => telemetry.tell('payment.record', record),
          ...signedStatements(environment),
        }
      },
    })
    return { module: PaidModule, imports: [...imports, facilitator, routes] }
  }
}

function paidRoutes(environment: Environment): Record<string, PaidRouteOptions> {
  const { NETWORK, PAY_TO = '', ASSET = '', LIMITS, PRICE_LIST: prices } = environment
  const route = (description: string): PaidRouteOptions => ({
    accepts: { scheme: 'upto', price: prices.maximum, network: NETWORK ?? 'eip155:0', payTo: PAY_TO, asset: ASSET },
    description,
    mimeType: 'application/json',
    priceList: { ...prices },
    timeout: LIMITS.paidTimeoutMs + AFTER_TIMEOUT_MS,
    charge: { unset: 'nothing', failure: 'nothing', timeout: 'nothing', partial: prices.base },
  })
  const limits = envelopeLimits(environment)
  const preview = route(
    'What a call would do now, or why it fails. Charged by the gas of all its runs, and by the state that they touch',
  )
  const simulate: PaidRouteOptions = {
    ...route(
      'eth_simulateV1 and upfront_simulate on pre-confirmed state, charged by gas and touched state; for upfront_simulate, the gas of all its runs, and 100 gas for each byte of its result',
    ),
    free: ({ body }) => asksForReadsOnly(body, limits),
  }
  return {
    'POST /v1/simulate': { ...simulate, extensions: SIMULATE_DISCOVERY },
    'GET /v1/preview': { ...preview, extensions: PREVIEW_DISCOVERY },
    [`POST /v1/simulate${PLAIN}`]: { ...simulate, ownExtensions: [] },
    [`GET /v1/preview${PLAIN}`]: { ...preview, ownExtensions: [] },
  }
}

const OUTCOMES: readonly PaymentRecord['outcome'][] = ['settled', 'pending', 'doubtful', 'nothing', 'failed']

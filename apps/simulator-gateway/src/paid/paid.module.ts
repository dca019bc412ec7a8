import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common'
import { BillingFacilitator, FileJournal, type Log } from '@upfront/facilitator-adapter'
import { type PaidRouteOptions, PaidRoutesModule, type PaymentRecord } from '@upfront/nestjs-x402'
import type { Logger } from 'pino'
import { Counter } from 'prom-client'
import { Environment } from '../environment.js'
import { Metrics } from '../metrics/metrics.js'
import { PaidSimulator } from './paid-simulator.js'
import { PreviewController } from './preview.controller.js'
import { decodePriceList, PRICE_LIST, type PriceList } from './price-list.js'
import { SimulateController } from './simulate.controller.js'

const FACILITATOR = Symbol('FACILITATOR')
/** The simulation ends by itself; only then may the route's time-out come. */
const AFTER_TIMEOUT_MS = 2_000

/** The routes that are sold, for `BILLING_URL`, `BILLING_TOKEN`, `NETWORK`, `ASSET`, `PAY_TO` and `PRICE_LIST`. */
@Module({})
export class PaidModule implements OnApplicationShutdown {
  constructor(@Inject(FACILITATOR) private readonly facilitator: BillingFacilitator) {}

  static forRoot(environment: Environment, logger: Logger): DynamicModule {
    const { BILLING_URL: url = '', BILLING_TOKEN: token = '', CHARGE_JOURNAL_DIR } = environment
    const log: Log = (level, message, fields) => logger[level](fields, message)
    const prices = decodePriceList(environment.PRICE_LIST)
    const facilitator = new BillingFacilitator({
      url,
      token,
      ...(CHARGE_JOURNAL_DIR === undefined ? {} : { journal: new FileJournal(CHARGE_JOURNAL_DIR, log) }),
      log,
    })
    return {
      module: PaidModule,
      imports: [
        PaidRoutesModule.forRootAsync({
          inject: [Metrics],
          useFactory: (metrics: Metrics) => ({
            facilitator,
            routes: paidRoutes(environment, prices),
            onPayment: paymentJournal(metrics, logger),
          }),
        }),
      ],
      controllers: [SimulateController, PreviewController],
      providers: [
        PaidSimulator,
        { provide: PRICE_LIST, useValue: prices },
        { provide: FACILITATOR, useValue: facilitator },
      ],
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.facilitator.close()
  }
}

function paidRoutes(environment: Environment, prices: PriceList): Record<string, PaidRouteOptions> {
  const { NETWORK, PAY_TO = '', ASSET = '', PAID_TIMEOUT_MS } = environment
  const route = (description: string): PaidRouteOptions => ({
    accepts: { scheme: 'upto', price: prices.maximum, network: NETWORK ?? 'eip155:0', payTo: PAY_TO, asset: ASSET },
    description,
    mimeType: 'application/json',
    priceList: { ...prices },
    timeout: PAID_TIMEOUT_MS + AFTER_TIMEOUT_MS,
    charge: { unset: 'nothing', failure: 'nothing', timeout: 'nothing', partial: prices.base },
  })
  return {
    'POST /v1/simulate': route('eth_simulateV1 on pre-confirmed state, charged by gas and touched state'),
    'GET /v1/preview': route('What a call would do now, charged by gas and touched state'),
  }
}

function paymentJournal(metrics: Metrics, logger: Logger): (record: PaymentRecord) => void {
  const payments = new Counter({
    name: 'upfront_payments_total',
    help: 'Paid requests by route, why they were charged what they were, and how far the payment came',
    labelNames: ['route', 'reason', 'outcome'],
    registers: [metrics.registry],
  })
  return ({ amount, maximum, ...record }) => {
    payments.labels(record.route, record.reason, record.outcome).inc()
    logger.info({ ...record, amount: amount.toString(), maximum: maximum.toString() }, 'payment')
  }
}

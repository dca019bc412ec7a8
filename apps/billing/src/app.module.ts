import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common'
import { APP_FILTER } from '@nestjs/core'
import { Chains } from './chain/chains.js'
import type { BillingEnvironment } from './environment/environment.js'
import { Metrics } from './health/metrics.js'
import { ErrorFilter } from './http/error.filter.js'
import { FacilitatorController } from './http/facilitator.controller.js'
import { HealthController } from './http/health.controller.js'
import { InternalController } from './http/internal.controller.js'
import { SellerController } from './http/seller.controller.js'
import { SERVICE_TOKEN } from './http/service-token.guard.js'
import { LEDGER, type LedgerStore, openLedger } from './ledger/database.js'
import type { Log } from './log.js'
import { Authorizations } from './payments/authorize.js'
import { Charges } from './payments/charge.js'
import { Facilitator } from './payments/facilitate.js'
import { SignerDirectory } from './payments/signer-directory.js'
import { Recovery } from './settle/recovery.js'
import { Settler } from './settle/settler.js'

/** All wiring of billing. */
@Module({})
export class AppModule implements OnApplicationShutdown {
  constructor(
    @Inject(LEDGER) private readonly ledger: LedgerStore,
    private readonly settler: Settler,
    private readonly recovery: Recovery,
    private readonly chains: Chains,
  ) {}

  static forRoot(environment: BillingEnvironment, log: Log): DynamicModule {
    return {
      module: AppModule,
      controllers: [InternalController, FacilitatorController, SellerController, HealthController],
      providers: [
        { provide: LEDGER, useFactory: () => openLedger(environment, log) },
        { provide: Metrics, useFactory: () => new Metrics() },
        { provide: Chains, useFactory: (metrics: Metrics) => new Chains(environment, metrics), inject: [Metrics] },
        {
          provide: SignerDirectory,
          useFactory: ({ db }: LedgerStore, chains: Chains) => new SignerDirectory(db, chains),
          inject: [LEDGER, Chains],
        },
        {
          provide: Settler,
          useFactory: ({ db }: LedgerStore, chains: Chains, metrics: Metrics) =>
            new Settler(db, chains, metrics, log, environment.feeBumpMilliseconds),
          inject: [LEDGER, Chains, Metrics],
        },
        {
          provide: Authorizations,
          useFactory: ({ db }: LedgerStore, chains: Chains, signers: SignerDirectory, metrics: Metrics) =>
            new Authorizations(db, chains, signers, metrics),
          inject: [LEDGER, Chains, SignerDirectory, Metrics],
        },
        {
          provide: Charges,
          useFactory: ({ db }: LedgerStore, chains: Chains, settler: Settler, metrics: Metrics) =>
            new Charges(db, chains, settler, metrics, environment.receiptWaitMilliseconds),
          inject: [LEDGER, Chains, Settler, Metrics],
        },
        {
          provide: Facilitator,
          useFactory: ({ db }: LedgerStore, authorizations: Authorizations, charges: Charges, settler: Settler) =>
            new Facilitator(db, authorizations, charges, settler, environment.receiptWaitMilliseconds),
          inject: [LEDGER, Authorizations, Charges, Settler],
        },
        {
          provide: Recovery,
          useFactory: ({ db }: LedgerStore, chains: Chains, settler: Settler, metrics: Metrics) =>
            new Recovery(db, chains, settler, metrics, log, environment.recoveryIntervalMilliseconds),
          inject: [LEDGER, Chains, Settler, Metrics],
        },
        { provide: SERVICE_TOKEN, useValue: environment.token },
        { provide: APP_FILTER, useFactory: () => new ErrorFilter(log) },
      ],
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.recovery.stop()
    await this.settler.stop()
    await this.ledger.close()
    await this.chains.close()
  }
}

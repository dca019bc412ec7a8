import { type DynamicModule, Module } from '@nestjs/common'
import { APP_FILTER } from '@nestjs/core'
import {
  HealthController,
  LOGGER,
  type Logger,
  Metrics,
  MetricsController,
  Readiness,
  ServiceModule,
} from '@upfront/service'
import { Chains } from './chain/chains.js'
import { Catalogue } from './discovery/catalogue.js'
import { Environment } from './environment/environment.js'
import { BillingReadiness } from './http/billing-readiness.js'
import { DiscoveryController } from './http/discovery.controller.js'
import { ErrorFilter } from './http/error.filter.js'
import { FacilitatorController } from './http/facilitator.controller.js'
import { InternalController } from './http/internal.controller.js'
import { SellerController } from './http/seller.controller.js'
import { Ledger, openLedger } from './ledger/ledger.js'
import { BillingMetrics } from './metrics.js'
import { Authorizations } from './payments/authorize.js'
import { Charges } from './payments/charge.js'
import { Facilitator } from './payments/facilitate.js'
import { SignerDirectory } from './payments/signer-directory.js'
import { Recovery } from './settle/recovery.js'
import { Settler } from './settle/settler.js'
import { GasPolicy } from './settle/signers/gas-policy.js'
import { SignerFunds } from './settle/signers/signer-funds.js'
import { SigningQueue } from './settle/signers/signing-queue.js'

/** Wires billing. Nest starts dependencies first and stops them last, so the ledger outlives the settler. */
@Module({})
export class AppModule {
  static forRoot(environment: Environment, logger: Logger): DynamicModule {
    return {
      module: AppModule,
      imports: [ServiceModule.forRoot(environment, logger)],
      controllers: [
        InternalController,
        FacilitatorController,
        DiscoveryController,
        SellerController,
        HealthController,
        MetricsController,
      ],
      providers: [
        { provide: Ledger, inject: [Environment, LOGGER], useFactory: openLedger },
        { provide: Metrics, useExisting: BillingMetrics },
        { provide: Readiness, useClass: BillingReadiness },
        { provide: APP_FILTER, useClass: ErrorFilter },
        BillingMetrics,
        Chains,
        SignerDirectory,
        SignerFunds,
        GasPolicy,
        SigningQueue,
        Settler,
        Recovery,
        Authorizations,
        Catalogue,
        Charges,
        Facilitator,
      ],
    }
  }
}

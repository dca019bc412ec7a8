import { type DynamicModule, Logger, Module } from '@nestjs/common'
import { BillingFacilitator } from '@upfront/facilitator-adapter'
import { PaidRoutesModule } from '@upfront/nestjs-x402'
import type { Environment } from './environment.js'
import { MeteredController } from './metered.controller.js'

@Module({})
export class AppModule {
  static forRoot({ NETWORK, ASSET, PAY_TO }: Environment, facilitator: BillingFacilitator): DynamicModule {
    const logger = new Logger('Payments')
    const option = { network: NETWORK, payTo: PAY_TO, asset: ASSET } as const
    return {
      module: AppModule,
      controllers: [MeteredController],
      imports: [
        PaidRoutesModule.forRoot({
          facilitator,
          onPayment: (record) =>
            logger.log({ ...record, amount: record.amount.toString(), maximum: record.maximum.toString() }),
          routes: {
            'GET /metered': {
              // In order of preference: by use, or at a fixed price.
              accepts: [
                { ...option, scheme: 'upto', price: '$0.10' },
                { ...option, scheme: 'exact', price: '$0.02' },
                { ...option, scheme: 'exact', price: '$0.02', assetTransferMethod: 'permit2' },
              ],
              description: 'Work that is charged by what it took, $0.10 at most, or $0.02',
              mimeType: 'application/json',
              timeout: 10_000,
              charge: {
                unset: 'maximum',
                failure: 'nothing',
                timeout: 'nothing',
                partial: 'maximum',
                invalid: 'maximum',
              },
            },
          },
        }),
      ],
    }
  }
}

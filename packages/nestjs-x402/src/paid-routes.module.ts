import { type DynamicModule, Module, type Provider } from '@nestjs/common'
import { APP_GUARD, APP_INTERCEPTOR, DiscoveryModule } from '@nestjs/core'
import { Admission } from './admit/admission.js'
import { Completion } from './charge/completion.js'
import { Settlement } from './charge/settlement.js'
import { Settler } from './charge/settler.js'
import { AnswerStore } from './hold/answer-store.js'
import { EveryHandlerGuard } from './payment.guard.js'
import { PaymentInterceptor } from './payment.interceptor.js'
import { ConfiguredFacilitator } from './routes/facilitator.js'
import { PaidRoutes } from './routes/paid-routes.js'
import {
  FACILITATOR_CLIENT,
  PAID_ROUTES_OPTIONS,
  type PaidRoutesAsyncOptions,
  type PaidRoutesOptions,
} from './routes/paid-routes-options.js'

/**
 * Paid routes for the whole app. Import `forRoot` once, in the root module. Other modules import the class itself to inject {@link
 * Settlement}.
 */
@Module({ providers: [Settlement], exports: [Settlement] })
export class PaidRoutesModule {
  static forRoot(options: PaidRoutesOptions): DynamicModule {
    return paidRoutes({ provide: PAID_ROUTES_OPTIONS, useValue: options })
  }

  static forRootAsync({ imports, inject, useFactory }: PaidRoutesAsyncOptions): DynamicModule {
    return paidRoutes({ provide: PAID_ROUTES_OPTIONS, inject: inject ?? [], useFactory }, imports)
  }
}

function paidRoutes(options: Provider, imports: PaidRoutesAsyncOptions['imports'] = []): DynamicModule {
  return {
    module: PaidRoutesModule,
    imports: [DiscoveryModule, ...imports],
    providers: [
      options,
      {
        provide: FACILITATOR_CLIENT,
        inject: [PAID_ROUTES_OPTIONS],
        useFactory: ({ facilitator }: PaidRoutesOptions) => facilitator,
      },
      PaidRoutes,
      ConfiguredFacilitator,
      AnswerStore,
      Admission,
      Settler,
      Completion,
      EveryHandlerGuard,
      { provide: APP_GUARD, useExisting: EveryHandlerGuard },
      { provide: APP_INTERCEPTOR, useClass: PaymentInterceptor },
    ],
  }
}

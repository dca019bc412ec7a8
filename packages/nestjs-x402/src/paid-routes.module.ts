import { type DynamicModule, Module, type Provider } from '@nestjs/common'
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core'
import { Admissions } from './admission.js'
import { Collections } from './collection.js'
import { Completions } from './completion.js'
import { PaidRoutes } from './paid-routes.js'
import { PAID_ROUTES_OPTIONS, type PaidRoutesAsyncOptions, type PaidRoutesOptions } from './paid-routes-options.js'
import { PaymentGuard } from './payment.guard.js'
import { PaymentInterceptor } from './payment.interceptor.js'
import { Settlement } from './settlement.js'

/** Paid routes for the whole app. Import it once, in the root module. */
@Module({})
export class PaidRoutesModule {
  static forRoot(options: PaidRoutesOptions): DynamicModule {
    return paidRoutes({ provide: PAID_ROUTES_OPTIONS, useValue: options })
  }

  static forRootAsync({ imports, inject, useFactory }: PaidRoutesAsyncOptions): DynamicModule {
    return paidRoutes({ provide: PAID_ROUTES_OPTIONS, inject: inject ?? [], useFactory }, imports)
  }
}

function paidRoutes(options: Provider, imports: PaidRoutesAsyncOptions['imports'] = []): DynamicModule {
  const shared = [PaidRoutes, Admissions, Collections, Completions, PaymentGuard, Settlement]
  return {
    module: PaidRoutesModule,
    global: true,
    imports,
    providers: [
      options,
      ...shared,
      { provide: APP_GUARD, useExisting: PaymentGuard },
      { provide: APP_INTERCEPTOR, useClass: PaymentInterceptor },
    ],
    exports: shared,
  }
}

import {
  applyDecorators,
  type CanActivate,
  Injectable,
  type OnModuleInit,
  SetMetadata,
  UseGuards,
} from '@nestjs/common'
import { ModuleRef } from '@nestjs/core'
import { PAID_ROUTE, type PaidRouteOptions } from './routes/paid-route-options.js'
import { PaidRoutes } from './routes/paid-routes.js'

/** Makes a handler a paid route, whatever path leads to it. The app does not start unless it imports `PaidRoutesModule.forRoot(…)`. */
export function PaidRoute(options: PaidRouteOptions): MethodDecorator {
  return applyDecorators(SetMetadata(PAID_ROUTE, options), UseGuards(PaidRoutesImported))
}

/** Only makes the app fail at start if the module is missing. The payment itself is checked by the guard of `PaidRoutesModule`. */
@Injectable()
class PaidRoutesImported implements CanActivate, OnModuleInit {
  constructor(private readonly modules: ModuleRef) {}

  onModuleInit(): void {
    try {
      this.modules.get(PaidRoutes, { strict: false })
    } catch {
      throw new Error('@PaidRoute needs PaidRoutesModule.forRoot(…) among the imports of the root module')
    }
  }

  canActivate(): boolean {
    return true
  }
}

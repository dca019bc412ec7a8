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

/**
 * Makes a handler a paid route, whatever path leads to it. An app that does not import `PaidRoutesModule.forRoot(…)` does
 * not start.
 */
export function PaidRoute(options: PaidRouteOptions): MethodDecorator {
  return applyDecorators(SetMetadata(PAID_ROUTE, options), UseGuards(PaidRoutesImported))
}

/** `PaidRoutesModule`'s own guard asks for the payment; this one is there to be started, or to fail at start. */
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

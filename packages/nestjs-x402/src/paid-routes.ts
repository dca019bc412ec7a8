import { Inject, Injectable, Logger, type OnModuleInit, type Type } from '@nestjs/common'
import { ApplicationConfig, ModulesContainer } from '@nestjs/core'
import { findHandlers, type Handler, type HandlerFunction } from './handlers.js'
import { OfferError, Offers } from './offers.js'
import { PAID_ROUTE } from './paid-route-metadata.js'
import { type PaidRouteOptions, type PaidRouteSettings, routeFaults, withDefaults } from './paid-route-options.js'
import { PAID_ROUTES_OPTIONS, PaidRoutesConfigurationError, type PaidRoutesOptions } from './paid-routes-options.js'

export interface CompiledRoute {
  /** `<METHOD> <path>`, as configured, or as served where a decorator says it. */
  name: string
  settings: PaidRouteSettings
}

/** Which handlers are paid, and how. Bound to handlers, not to URLs: whatever leads to a paid handler is paid. */
@Injectable()
export class PaidRoutes implements OnModuleInit {
  readonly offers: Offers
  readonly #logger = new Logger('PaidRoutes')
  readonly #byHandler = new Map<Type, Map<unknown, CompiledRoute>>()

  constructor(
    @Inject(PAID_ROUTES_OPTIONS) private readonly options: PaidRoutesOptions,
    private readonly modules: ModulesContainer,
    private readonly config: ApplicationConfig,
  ) {
    this.offers = new Offers(options.facilitator)
  }

  /** @throws PaidRoutesConfigurationError naming each route and field that is wrong */
  async onModuleInit(): Promise<void> {
    const faults: string[] = []
    const handlers = findHandlers(this.modules, this.config)
    const routes: CompiledRoute[] = []
    const bind = (handler: Handler, where: string, route: CompiledRoute) => {
      const other = this.#bound(handler)
      if (other !== undefined) {
        faults.push(`${where}: leads to ${describe(handler)}, which ${other.name} makes paid already`)
        return
      }
      const ofController = this.#byHandler.get(handler.controller) ?? new Map<HandlerFunction, CompiledRoute>()
      for (const each of handler.functions) ofController.set(each, route)
      this.#byHandler.set(handler.controller, ofController)
    }
    for (const [name, options] of Object.entries(this.options.routes ?? {})) {
      const where = `routes[${JSON.stringify(name)}]`
      const found = matching(name, handlers)
      if (typeof found === 'string') faults.push(`${where}: ${found}`)
      const compiled = compile(name, where, options, faults)
      if (compiled === undefined || typeof found === 'string') continue
      routes.push(compiled)
      for (const handler of found) bind(handler, where, compiled)
    }
    for (const handler of handlers) {
      const options: PaidRouteOptions | undefined = Reflect.getMetadata(PAID_ROUTE, handler.functions[0]!)
      if (options === undefined) continue
      const name = `${handler.method} ${handler.servedPaths[0]}`
      const where = `@PaidRoute on ${describe(handler)} (${name})`
      const compiled = compile(name, where, options, faults)
      if (compiled === undefined) continue
      routes.push(compiled)
      bind(handler, where, compiled)
    }
    if (faults.length > 0) throw new PaidRoutesConfigurationError(faults)
    await this.#tryOffers(routes)
  }

  /** The paid route that a handler is, if it is one. */
  of(controller: Type, handler: unknown): CompiledRoute | undefined {
    return this.#byHandler.get(controller)?.get(handler)
  }

  #bound(handler: Handler): CompiledRoute | undefined {
    const ofController = this.#byHandler.get(handler.controller)
    return handler.functions.map((each) => ofController?.get(each)).find((route) => route !== undefined)
  }

  /** Finds options that can never be offered. A facilitator that is not there yet is no reason not to start. */
  async #tryOffers(routes: readonly CompiledRoute[]): Promise<void> {
    const faults: string[] = []
    for (const { name, settings } of routes) {
      try {
        await this.offers.of(settings)
      } catch (error) {
        if (error instanceof OfferError) faults.push(`${name}: ${error.message}`)
        else
          this.#logger.warn({
            message: 'the facilitator does not answer yet; paid routes answer 503 until it does',
            route: name,
          })
      }
    }
    if (faults.length > 0) throw new PaidRoutesConfigurationError(faults)
  }
}

function compile(name: string, where: string, options: unknown, faults: string[]): CompiledRoute | undefined {
  const found = routeFaults(options)
  faults.push(...found.map((fault) => `${where}.${fault}`))
  return found.length > 0 ? undefined : { name, settings: withDefaults(options as PaidRouteOptions) }
}

/** The handlers that a route name means, or what is wrong with it. */
function matching(name: string, handlers: readonly Handler[]): Handler[] | string {
  const match = /^([A-Z]+) (\/\S*)$/.exec(name)
  if (match === null) return 'expected "<METHOD> <path>", such as "GET /reports/:id"'
  const [, method, path = ''] = match
  const wanted = comparable(path)
  const candidates = handlers.filter((handler) => handler.method === method || handler.method === 'ALL')
  const by = (paths: (handler: Handler) => string[]) =>
    candidates.filter((handler) => paths(handler).some((candidate) => comparable(candidate) === wanted))
  const served = by((handler) => handler.servedPaths)
  const found = served.length > 0 ? served : by((handler) => handler.writtenPaths)
  if (found.length > 0) return found
  const known = handlers.flatMap((handler) => handler.servedPaths.map((each) => `${handler.method} ${each}`))
  return `matches no handler; there are ${known.slice(0, 20).join(', ') || 'none'}`
}

/** Without a slash at the end, and whatever parameters are called. */
function comparable(path: string): string {
  return path.replace(/(.)\/+$/, '$1').replace(/:[^/.-]+/g, ':')
}

function describe(handler: Handler): string {
  return `${handler.controller.name}.${handler.name}`
}

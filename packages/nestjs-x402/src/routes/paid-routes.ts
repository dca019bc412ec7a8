import { Inject, Injectable, type OnModuleInit, type Type } from '@nestjs/common'
import { ApplicationConfig, ContextIdFactory, DiscoveryService, ModuleRef, ModulesContainer } from '@nestjs/core'
import { ConfiguredFacilitator } from './facilitator.js'
import { findHandlers, type Handler } from './handlers.js'
import { OfferError, Offers } from './offers.js'
import {
  PAID_ROUTE,
  type PaidRouteOptions,
  type PaidRouteSettings,
  routeFaults,
  withDefaults,
} from './paid-route-options.js'
import { PAID_ROUTES_OPTIONS, PaidRoutesConfigurationError, type PaidRoutesOptions } from './paid-routes-options.js'

export interface CompiledRoute {
  /** `<METHOD> <path>`: as configured, or as served if the handler has a decorator. */
  name: string
  settings: PaidRouteSettings
}

/** A controller with at least one paid handler. */
interface PaidController {
  /** Paid routes by method name. */
  paid: Map<string, CompiledRoute>
  /** All handlers, paid and free. */
  handlers: Handler[]
}

/**
 * Knows which handlers are paid, and on which terms. A route is bound to a controller's method by name, not to a URL: every path to that
 * method is paid.
 */
@Injectable()
export class PaidRoutes implements OnModuleInit {
  readonly offers: Offers
  private readonly controllers = new Map<Type, PaidController>()

  constructor(
    @Inject(PAID_ROUTES_OPTIONS) private readonly options: PaidRoutesOptions,
    private readonly discovery: DiscoveryService,
    private readonly modules: ModulesContainer,
    private readonly config: ApplicationConfig,
    private readonly moduleRef: ModuleRef,
    private readonly facilitator: ConfiguredFacilitator,
  ) {
    this.offers = new Offers(facilitator.client)
  }

  /** @throws PaidRoutesConfigurationError that lists every faulty route and field */
  async onModuleInit(): Promise<void> {
    const faults: string[] = []
    const handlers = findHandlers(this.discovery, this.modules, this.config)
    const routes: CompiledRoute[] = []
    for (const [name, options] of Object.entries(this.options.routes ?? {})) {
      const where = `routes[${JSON.stringify(name)}]`
      const found = matching(name, handlers)
      if (typeof found === 'string') faults.push(`${where}: ${found}`)
      const route = compile(name, where, options, faults)
      if (route === undefined || typeof found === 'string') continue
      routes.push(route)
      for (const handler of found) faults.push(...this.bind(handler, where, route, handlers))
    }
    for (const handler of handlers) {
      const options: PaidRouteOptions | undefined = Reflect.getMetadata(PAID_ROUTE, handler.declared)
      if (options === undefined) continue
      const name = `${handler.method} ${handler.servedPaths[0]}`
      const where = `@PaidRoute on ${describe(handler)} (${name})`
      const route = compile(name, where, options, faults)
      if (route === undefined) continue
      routes.push(route)
      faults.push(...this.bind(handler, where, route, handlers))
    }
    if (faults.length > 0) throw new PaidRoutesConfigurationError(faults)
    await this.tryOffers(routes)
    if (routes.length > 0) await this.facilitator.check()
    const delivering = routes.filter(({ settings }) => settings.onPending === 'deliver')
    const networks = delivering.flatMap(({ settings }) => settings.accepts.map(({ network }) => network))
    for (const network of new Set(networks)) await this.facilitator.warnOfSlowBlocks(network)
  }

  /** Whether a controller has paid handlers. */
  has(controller: Type): boolean {
    return this.controllers.has(controller)
  }

  /**
   * Returns the paid route that this handler serves, or undefined if it is free.
   * @param handler the function that Nest is about to call
   * @throws Error if the controller has paid methods and the function is none of its methods
   */
  async find(controller: Type, handler: unknown, request: object): Promise<CompiledRoute | undefined> {
    const known = this.controllers.get(controller)
    if (known === undefined) return undefined
    const names: string[] = []
    for (const { name, declared, instance } of known.handlers) {
      if (instance !== undefined && (declared === handler || methodOf(instance, name) === handler)) names.push(name)
    }
    if (known.handlers.some(({ instance }) => instance === undefined)) {
      // A request-scoped constructor ran for this request, and may have bound or replaced methods.
      const context = ContextIdFactory.getByRequest(request)
      const instances: object[] = await this.moduleRef.resolve(controller, context, { strict: false, each: true })
      for (const { name } of known.handlers) {
        if (instances.some((instance) => methodOf(instance, name) === handler)) names.push(name)
      }
    }
    if (names.length === 0)
      throw new Error(`${controller.name} has paid methods, and the called handler is not one of them`)
    return names.map((name) => known.paid.get(name)).find((route) => route !== undefined)
  }

  /** @returns the problems found */
  private bind(handler: Handler, where: string, route: CompiledRoute, all: readonly Handler[]): string[] {
    const { controller, instance, name } = handler
    if (
      instance !== undefined &&
      (instance.constructor !== controller || typeof methodOf(instance, name) !== 'function')
    ) {
      return [
        `${where}: ${describe(handler)} can't be recognised: its instance is not of that class, or lacks the method`,
      ]
    }
    const known = this.controllers.get(controller) ?? {
      paid: new Map<string, CompiledRoute>(),
      handlers: all.filter((each) => each.controller === controller),
    }
    this.controllers.set(controller, known)
    const other = known.paid.get(name) ?? route
    if (other !== route) return [`${where}: leads to ${describe(handler)}, which ${other.name} already makes paid`]
    known.paid.set(name, route)
    return []
  }

  /** Finds options that can never be offered. If the facilitator can't be reached, the app starts anyway. */
  private async tryOffers(routes: readonly CompiledRoute[]): Promise<void> {
    const faults: string[] = []
    for (const { name, settings } of routes) {
      try {
        await this.offers.of(settings)
      } catch (error) {
        if (error instanceof OfferError) faults.push(`${name}: ${error.message}`)
        else break
      }
    }
    if (faults.length > 0) throw new PaidRoutesConfigurationError(faults)
  }
}

function methodOf(instance: object, name: string): unknown {
  return (instance as Record<string, unknown>)[name]
}

function compile(name: string, where: string, options: unknown, faults: string[]): CompiledRoute | undefined {
  const found = routeFaults(options)
  faults.push(...found.map((fault) => `${where}.${fault}`))
  return found.length > 0 ? undefined : { name, settings: withDefaults(options as PaidRouteOptions) }
}

/** Returns the handlers that a route name matches, or the problem with it. */
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

/** Drops a trailing slash and the names of parameters. */
function comparable(path: string): string {
  return path.replace(/(.)\/+$/, '$1').replace(/:[^/.-]+/g, ':')
}

function describe(handler: Handler): string {
  return `${handler.controller.name}.${handler.name}`
}

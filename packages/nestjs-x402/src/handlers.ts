import { RequestMethod, type Type } from '@nestjs/common'
import { METHOD_METADATA, MODULE_PATH, PATH_METADATA, VERSION_METADATA } from '@nestjs/common/constants.js'
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core'
import { RoutePathFactory } from '@nestjs/core/router/route-path-factory.js'

export type HandlerFunction = (...given: never[]) => unknown

/** A handler of the app, and all that leads to it. */
export interface Handler {
  controller: Type
  name: string
  /** As the router calls it, and as the class declares it: the same, save where an instance replaces its own method. */
  functions: HandlerFunction[]
  /** `GET`, …, or `ALL`. */
  method: string
  /** As served, with global prefix and versions. */
  servedPaths: string[]
  /** As the controllers write it. */
  writtenPaths: string[]
}

/** Every HTTP handler, with the paths that Nest's own router gives it. */
export function findHandlers(modules: ModulesContainer, config: ApplicationConfig): Handler[] {
  const paths = new RoutePathFactory(config)
  const handlers: Handler[] = []
  for (const module of modules.values()) {
    const modulePath: string | undefined =
      Reflect.getMetadata(MODULE_PATH + modules.applicationId, module.metatype) ??
      Reflect.getMetadata(MODULE_PATH, module.metatype)
    for (const { metatype, instance } of module.controllers.values()) {
      if (typeof metatype !== 'function') continue
      const controller = metatype as Type
      for (const name of methodNames(controller.prototype)) {
        const declared: HandlerFunction = controller.prototype[name]
        const methodPath: string | string[] | undefined = Reflect.getMetadata(PATH_METADATA, declared)
        if (methodPath === undefined) continue
        const requestMethod: RequestMethod = Reflect.getMetadata(METHOD_METADATA, declared)
        const versioning = config.getVersioning()
        const called: unknown = (instance as Record<string, unknown> | undefined)?.[name]
        const base = { ctrlPath: '', ...(modulePath === undefined ? {} : { modulePath }) }
        const written: string[] = []
        const served: string[] = []
        for (const ctrlPath of [Reflect.getMetadata(PATH_METADATA, controller) as string | string[]].flat()) {
          for (const path of [methodPath].flat()) {
            const own = { ...base, ctrlPath: withSlash(ctrlPath), methodPath: withSlash(path) }
            written.push(...paths.create(own, requestMethod))
            const full = {
              ...own,
              globalPrefix: config.getGlobalPrefix() === '' ? '' : withSlash(config.getGlobalPrefix()),
              methodVersion: Reflect.getMetadata(VERSION_METADATA, declared),
              controllerVersion:
                versioning && (Reflect.getMetadata(VERSION_METADATA, controller) ?? versioning.defaultVersion),
              ...(versioning === undefined ? {} : { versioningOptions: versioning }),
            }
            served.push(...paths.create(full, requestMethod))
          }
        }
        handlers.push({
          controller,
          name,
          functions: [declared, ...(typeof called === 'function' ? [called as HandlerFunction] : [])],
          method: RequestMethod[requestMethod],
          servedPaths: [...new Set(served)],
          writtenPaths: [...new Set(written)],
        })
      }
    }
  }
  return handlers
}

function methodNames(prototype: object): string[] {
  const names = new Set<string>()
  for (let level = prototype; level !== null && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Object.getOwnPropertyNames(level)) {
      const own = Object.getOwnPropertyDescriptor(level, name)
      if (name !== 'constructor' && typeof own?.value === 'function') names.add(name)
    }
  }
  return [...names]
}

function withSlash(path: string): string {
  return path.startsWith('/') ? path : `/${path}`
}

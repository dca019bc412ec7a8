import { RequestMethod, type Type } from '@nestjs/common'
// Nest does not export these two from its root; @nestjs/swagger imports them from here too.
import { METHOD_METADATA, MODULE_PATH, PATH_METADATA, VERSION_METADATA } from '@nestjs/common/constants.js'
import { type ApplicationConfig, type DiscoveryService, MetadataScanner, type ModulesContainer } from '@nestjs/core'
import { RoutePathFactory } from '@nestjs/core/router/route-path-factory.js'

/** A controller method that serves HTTP. */
export interface Handler {
  controller: Type
  name: string
  /** The method as declared by the class: it carries the decorators' metadata. */
  declared: object
  /** The controller's instance; undefined if the controller is request-scoped. */
  instance: object | undefined
  /** `GET`, …, or `ALL`. */
  method: string
  /** The paths as served, with global prefix and versions. */
  servedPaths: string[]
  /** The paths as written in the controllers. */
  writtenPaths: string[]
}

/** All HTTP handlers of the app, with the paths that Nest's own router gives them. */
export function findHandlers(
  discovery: DiscoveryService,
  { applicationId }: ModulesContainer,
  config: ApplicationConfig,
): Handler[] {
  const factory = new RoutePathFactory(config)
  const scanner = new MetadataScanner()
  const versioning = config.getVersioning()
  const globalPrefix = config.getGlobalPrefix() === '' ? '' : withSlash(config.getGlobalPrefix())
  return discovery.getControllers().flatMap((wrapper) => {
    const controller = wrapper.metatype as Type | null
    if (controller === null) return []
    const controllerPaths = [Reflect.getMetadata(PATH_METADATA, controller) as string | string[]].flat()
    const module = wrapper.host?.metatype as Type
    const modulePath: string | undefined =
      Reflect.getMetadata(MODULE_PATH + applicationId, module) ?? Reflect.getMetadata(MODULE_PATH, module)
    return scanner.getAllMethodNames(controller.prototype).flatMap((name): Handler[] => {
      const declared: object = controller.prototype[name]
      const methodPath: string | string[] | undefined = Reflect.getMetadata(PATH_METADATA, declared)
      if (methodPath === undefined) return []
      const requestMethod: RequestMethod = Reflect.getMetadata(METHOD_METADATA, declared)
      const written = controllerPaths.flatMap((ctrlPath) =>
        [methodPath].flat().map((path) => ({
          ctrlPath: withSlash(ctrlPath),
          methodPath: withSlash(path),
          ...(modulePath === undefined ? {} : { modulePath }),
        })),
      )
      const served = written.map((path) => ({
        ...path,
        globalPrefix,
        methodVersion: Reflect.getMetadata(VERSION_METADATA, declared),
        controllerVersion:
          versioning && (Reflect.getMetadata(VERSION_METADATA, controller) ?? versioning.defaultVersion),
        ...(versioning === undefined ? {} : { versioningOptions: versioning }),
      }))
      const pathsOf = (metadata: typeof written) => [
        ...new Set(metadata.flatMap((each) => factory.create(each, requestMethod))),
      ]
      return [
        {
          controller,
          name,
          declared,
          instance: wrapper.isDependencyTreeStatic() ? wrapper.instance : undefined,
          method: RequestMethod[requestMethod],
          servedPaths: pathsOf(served),
          writtenPaths: pathsOf(written),
        },
      ]
    })
  })
}

function withSlash(path: string): string {
  return path.startsWith('/') ? path : `/${path}`
}

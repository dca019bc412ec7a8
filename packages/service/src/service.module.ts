import { type DynamicModule, Module } from '@nestjs/common'
import { LOGGER, type Logger } from './logger.js'

/** Gives a service's settings, by their class, and the process's logger, under {@link LOGGER}, to whoever imports it. */
@Module({})
export class ServiceModule {
  static forRoot(settings: object, logger: Logger): DynamicModule {
    const providers = [
      { provide: settings.constructor, useValue: settings },
      { provide: LOGGER, useValue: logger },
    ]
    return { module: ServiceModule, providers, exports: [settings.constructor, LOGGER] }
  }
}

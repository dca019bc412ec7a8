import { type DynamicModule, Module } from '@nestjs/common'
import { LOGGER, type Logger } from './logger.js'

/** Gives the process's logger to whoever imports it, under {@link LOGGER}. */
@Module({})
export class LoggerModule {
  static forRoot(logger: Logger): DynamicModule {
    return { module: LoggerModule, providers: [{ provide: LOGGER, useValue: logger }], exports: [LOGGER] }
  }
}

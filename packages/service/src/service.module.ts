import { type DynamicModule, Module } from '@nestjs/common'
import { ConfigModule, ConfigService } from '@nestjs/config'
import { LOGGER, type Logger } from './logger.js'

/** The key of the settings in Nest's ConfigService. */
const SETTINGS = 'settings'

/** Provides a service's settings, by their class, and the process's logger, under {@link LOGGER}. */
@Module({})
export class ServiceModule {
  static forRoot(settings: object, logger: Logger): DynamicModule {
    // One object under one key: otherwise ConfigModule would write top-level strings and numbers into process.env.
    const validate = () => ({ [SETTINGS]: settings })
    const useFactory = (config: ConfigService) => config.getOrThrow<object>(SETTINGS)
    return {
      module: ServiceModule,
      imports: [ConfigModule.forRoot({ ignoreEnvFile: true, ignoreEnvVars: true, skipProcessEnv: true, validate })],
      providers: [
        { provide: settings.constructor, inject: [ConfigService], useFactory },
        { provide: LOGGER, useValue: logger },
      ],
      exports: [settings.constructor, LOGGER],
    }
  }
}

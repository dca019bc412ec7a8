import { type DynamicModule, Module } from '@nestjs/common'
import { ConfigModule, ConfigService } from '@nestjs/config'

/** What Nest's ConfigService knows the settings under. */
const SETTINGS = 'settings'

/** Gives a service's settings to whoever imports it: inject their class. */
@Module({})
export class ConfigurationModule {
  /**
   * `read`: answers the settings or throws, such as `() => readEnvironment(Environment, process.env)`.
   * @throws what `read` throws, when the application is created
   */
  static forRoot<T extends object>(settings: abstract new (...args: never[]) => T, read: () => T): DynamicModule {
    // One object under one name: ConfigModule would write texts and numbers of its own level into process.env.
    const validate = () => ({ [SETTINGS]: read() })
    return {
      module: ConfigurationModule,
      imports: [ConfigModule.forRoot({ ignoreEnvFile: true, ignoreEnvVars: true, skipProcessEnv: true, validate })],
      providers: [
        {
          provide: settings,
          inject: [ConfigService],
          useFactory: (config: ConfigService) => config.getOrThrow<T>(SETTINGS),
        },
      ],
      exports: [settings],
    }
  }
}

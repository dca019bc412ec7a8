import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common'
import { catchError } from '@upfront/node'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import { Simulator } from './simulator.js'

/** Simulates once at start-up, so that the first request finds compiled code. A failure is only logged. */
@Injectable()
export class WarmUp implements OnApplicationBootstrap {
  constructor(
    private readonly simulator: Simulator,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    void catchError<unknown>(
      () => this.simulator.warmUp(),
      (error) => this.logger.warn({ reason: errorText(error) }, 'the simulation at start-up failed'),
    )
  }
}

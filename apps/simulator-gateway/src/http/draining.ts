import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { LOGGER, type Logger } from '@upfront/service'
import { Environment } from '../environment/environment.js'
import { PlainFront } from './plain-front.js'

const SWEEP_MS = 100

/** On shutdown: closes connections as they become idle, and the rest after `SHUTDOWN_TIMEOUT_MS`. */
@Injectable()
export class Draining implements BeforeApplicationShutdown, OnApplicationShutdown {
  private sweep: NodeJS.Timeout | undefined
  private deadline: NodeJS.Timeout | undefined

  constructor(
    private readonly adapterHost: HttpAdapterHost<FastifyAdapter>,
    private readonly front: PlainFront,
    private readonly environment: Environment,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Nest closes the server after this hook and waits for its connections. */
  beforeApplicationShutdown(): void {
    const server = this.adapterHost.httpAdapter.getHttpServer()
    const { SHUTDOWN_TIMEOUT_MS: timeoutMs } = this.environment
    this.sweep = setInterval(() => {
      server.closeIdleConnections()
      this.front.closeIdle()
    }, SWEEP_MS)
    this.deadline = setTimeout(() => {
      this.logger.warn(`requests still in flight ${timeoutMs} ms after the shutdown signal are cut off`)
      server.closeAllConnections()
      this.front.closeAll()
    }, timeoutMs)
  }

  onApplicationShutdown(): void {
    clearInterval(this.sweep)
    clearTimeout(this.deadline)
  }
}

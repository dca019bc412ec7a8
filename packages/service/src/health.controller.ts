import { Controller, Get, Res } from '@nestjs/common'
import type { FastifyReply } from 'fastify'

/** Reports whether a service can do its work now. Each service provides its own. */
export abstract class Readiness {
  /** Further fields are shown unchanged: they must be JSON and hold no secrets. */
  abstract report(): Promise<{ ready: boolean }>
}

/**
 * `/health` and `/health/ready`: 200 while the service can do its work, otherwise 503, with the report. `/health/live`: 200 while the
 * process answers, for supervisors that restart it.
 */
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  @Get('live')
  live(): { live: true } {
    return { live: true }
  }

  @Get(['', 'ready'])
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const report = await this.readiness.report()
    reply.code(report.ready ? 200 : 503).send(report)
  }
}

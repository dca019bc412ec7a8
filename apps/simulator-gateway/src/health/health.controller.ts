import { Controller, Get, Res } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import { Readiness } from './readiness.js'

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

import { Controller, Get, Header, Inject, Res } from '@nestjs/common'
import { sql } from 'drizzle-orm'
import type { FastifyReply } from 'fastify'
import { Chains } from '../chain/chains.js'
import { Metrics } from '../health/metrics.js'
import { LEDGER, type LedgerStore } from '../ledger/database.js'

const HEAD_STALE_MILLISECONDS = 30_000

/**
 * `/health`: 200 while payments can be taken, 503 while the ledger or a node can't be reached. `/health/live`: 200 while the
 * process answers; what is out of reach does not get better by a restart. `/metrics`: Prometheus.
 */
@Controller()
export class HealthController {
  constructor(
    @Inject(LEDGER) private readonly ledger: LedgerStore,
    private readonly chains: Chains,
    private readonly metrics: Metrics,
  ) {}

  @Get('health')
  async health(@Res({ passthrough: true }) reply: FastifyReply) {
    const reachable = await this.ledger.db.execute(sql`select 1`).then(
      () => true,
      () => false,
    )
    const chains = Object.fromEntries(
      this.chains.all().map(({ network, head, signers }) => [
        network,
        {
          status: Date.now() - head.readAt < HEAD_STALE_MILLISECONDS ? 'ok' : 'unreachable',
          head: head.number.toString(),
          signers: [...signers.keys()],
        },
      ]),
    )
    const ok = reachable && Object.values(chains).every(({ status }) => status === 'ok')
    void reply.status(ok ? 200 : 503)
    return {
      status: ok ? 'ok' : 'unavailable',
      ledger: { store: this.ledger.kind, status: reachable ? 'ok' : 'unreachable' },
      chains,
    }
  }

  @Get('health/live')
  live() {
    return { status: 'ok' }
  }

  @Get('metrics')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  async metricsText(): Promise<string> {
    return this.metrics.registry.metrics()
  }
}

import { Injectable } from '@nestjs/common'
import { Readiness } from '@upfront/service'
import { sql } from 'drizzle-orm'
import { Chains } from '../chain/chains.js'
import { Ledger } from '../ledger/ledger.js'

const HEAD_STALE_MILLISECONDS = 30_000

/** Whether payments can be taken: the ledger and every chain's node can be reached. */
@Injectable()
export class BillingReadiness extends Readiness {
  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
  ) {
    super()
  }

  async report() {
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
    const ready = reachable && Object.values(chains).every(({ status }) => status === 'ok')
    return {
      ready,
      status: ready ? 'ok' : 'unavailable',
      ledger: { store: this.ledger.kind, status: reachable ? 'ok' : 'unreachable' },
      chains,
    }
  }
}

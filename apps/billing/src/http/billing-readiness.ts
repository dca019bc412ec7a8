import { Injectable } from '@nestjs/common'
import { Readiness } from '@upfront/service'
import { Chains } from '../chain/chains.js'
import { Ledger } from '../ledger/ledger.js'
import { idempotencyKeys } from '../ledger/schema.js'

const HEAD_STALE_MILLISECONDS = 30_000

/**
 * Whether something can be sold: the ledger can be written, and one chain at least can be reached. Each chain is told by
 * itself: `status` is `degraded` while one of several is out of reach.
 */
@Injectable()
export class BillingReadiness extends Readiness {
  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
  ) {
    super()
  }

  async report() {
    const store = await this.storeStatus()
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
    const reachable = Object.values(chains).filter(({ status }) => status === 'ok').length
    const ready = store === 'ok' && reachable > 0
    return {
      ready,
      status: !ready ? 'unavailable' : reachable === this.chains.all().length ? 'ok' : 'degraded',
      ledger: { store: this.ledger.kind, status: store },
      chains,
    }
  }

  /** Writes, and takes it back: a full disk or a standby still answers reads. */
  private async storeStatus(): Promise<'ok' | 'unreachable'> {
    const row = { key: 'health', operation: 'health', inputHash: '', paymentId: null, createdAt: new Date() }
    let written = false
    await this.ledger.db
      .transaction(async (tx) => {
        await tx.insert(idempotencyKeys).values(row)
        written = true
        tx.rollback()
      })
      .catch(() => undefined)
    return written ? 'ok' : 'unreachable'
  }
}

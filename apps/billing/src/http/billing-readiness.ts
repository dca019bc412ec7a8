import { Injectable } from '@nestjs/common'
import type { Address } from '@upfront/protocol'
import { Readiness } from '@upfront/service'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { OPTIONAL_CHECK_TIMEOUT_MS, raceTimeout } from '../chain/race-timeout.js'
import { Ledger } from '../ledger/ledger.js'
import { idempotencyKeys } from '../ledger/schema.js'
import { Settler } from '../settle/settler.js'
import { SignerFunds } from '../settle/signers/signer-funds.js'

const HEAD_STALE_MS = 30_000
const STORE_TIMEOUT_MS = 2_000

/**
 * Ready if the ledger is writable and at least one chain has a node that answers and a signer that can pay for settlements. Chains are
 * reported separately; `status` is `degraded` while one of several is not `ok`.
 */
@Injectable()
export class BillingReadiness extends Readiness {
  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly funds: SignerFunds,
    private readonly settler: Settler,
  ) {
    super()
  }

  async report() {
    const store = await raceTimeout(STORE_TIMEOUT_MS, this.storeStatus(), 'unreachable' as const)
    const chains = Object.fromEntries(
      await Promise.all(this.chains.all().map(async (chain) => [chain.network, await this.describe(chain)] as const)),
    )
    const earning = Object.values(chains).filter(({ status }) => status === 'ok').length
    const ready = store === 'ok' && earning > 0
    return {
      ready,
      status: !ready ? 'unavailable' : earning === this.chains.all().length ? 'ok' : 'degraded',
      ledger: { store: this.ledger.kind, status: store },
      chains,
    }
  }

  private async describe(chain: Chain) {
    const { head, signers } = chain
    const isReachable = Date.now() - head.readAt < HEAD_STALE_MS
    const left = isReachable
      ? await Promise.all([...signers.keys()].map((signer) => this.settlementsLeft(chain, signer)))
      : []
    const canPay = left.some((settlements) => settlements === null || settlements >= this.funds.fewest)
    return {
      status: isReachable ? (canPay ? 'ok' : 'out of gas') : 'unreachable',
      head: head.number.toString(),
      signers: [...signers.keys()],
      settlementsLeft: Object.fromEntries([...signers.keys()].map((signer, index) => [signer, left[index] ?? null])),
      batchObstacles: this.settler.batchObstacles(chain.network),
    }
  }

  /** `null` if unknown or unlimited. */
  private settlementsLeft(chain: Chain, signer: Address): Promise<number | null> {
    return raceTimeout(OPTIONAL_CHECK_TIMEOUT_MS, this.funds.settlementsLeft(chain, signer), null).catch(() => null)
  }

  /** Writes and rolls back: with a full disk, or on a standby, reads would still succeed. */
  private async storeStatus(): Promise<'ok' | 'unreachable'> {
    // No client's Idempotency-Key has a space.
    const row = { key: 'a health check', operation: 'health', inputHash: '', paymentId: null, createdAt: new Date() }
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

import { setTimeout as sleep } from 'node:timers/promises'
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import type { Chain } from '../../chain/chain.js'
import { Chains } from '../../chain/chains.js'
import { Environment } from '../../environment/environment.js'
import { Ledger } from '../../ledger/ledger.js'
import { BillingMetrics } from '../../metrics.js'
import { endWithin } from '../end-within.js'
import { SignerFunds } from '../signers/signer-funds.js'
import { followFinal } from './follow-chain.js'
import { measureEconomics } from './measure-economics.js'
import { reportFollowed } from './report-followed.js'

/** Compares the ledger with each chain's final blocks, on and on; one chain's node keeps no other chain waiting. */
@Injectable()
export class Reconciliation implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly stop = new AbortController()
  private loops: Promise<void>[] = []

  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly metrics: BillingMetrics,
    private readonly funds: SignerFunds,
    private readonly environment: Environment,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.loops = this.chains.all().map((chain) => this.follow(chain))
  }

  async onApplicationShutdown(): Promise<void> {
    this.stop.abort()
    await endWithin(Promise.all(this.loops))
  }

  private async follow(chain: Chain): Promise<void> {
    const { signal } = this.stop
    while (!signal.aborted) {
      await sleep(this.environment.LIMITS.reconcileMs, undefined, { signal }).catch(() => undefined)
      if (!signal.aborted) await this.round(chain)
    }
  }

  private async round(chain: Chain): Promise<void> {
    const { network } = chain
    try {
      const followed = await followFinal(this.ledger.db, chain)
      if (followed !== null) {
        this.metrics.reconciledBlock.set({ network }, Number(followed.upTo))
        reportFollowed(network, followed, this.metrics, this.logger)
      }
      await measureEconomics(this.ledger.db, chain, this.metrics)
      for (const signer of chain.signers.keys()) await this.funds.settlementsLeft(chain, signer)
    } catch (error) {
      this.logger.warn({ network, reason: errorText(error) }, 'reconciling failed; it will be repeated')
    }
  }
}

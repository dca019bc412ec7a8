import { setTimeout as sleep } from 'node:timers/promises'
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { RefusalReason } from '@upfront/protocol'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import { and, asc, count, eq, inArray, isNotNull, lt, min, notInArray, or, type SQL, sql } from 'drizzle-orm'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { raceTimeout } from '../chain/race-timeout.js'
import { Environment } from '../environment/environment.js'
import { changePayment } from '../ledger/change-payment.js'
import { isInState } from '../ledger/is-in-state.js'
import { Ledger } from '../ledger/ledger.js'
import { isOfRefusedContract } from '../ledger/refused-payers.js'
import { idempotencyKeys, type PaymentRow, payments, signers } from '../ledger/schema.js'
import { BillingMetrics } from '../metrics.js'
import { type Followed, followFinal, followNewest } from './reconcile/follow-chain.js'
import { measureEconomics } from './reconcile/measure-economics.js'
import { MAX_END_MS, Settler } from './settler.js'
import { GasPolicy } from './signers/gas-policy.js'
import { SignerFunds } from './signers/signer-funds.js'
import { recordReturned, repairNonces } from './signers/signer-nonces.js'

const BATCH = 500
const FIRST_ROUND_MS = 1_500
/** Retention of stored refusals: clients retry within seconds. */
const KEY_RETENTION_MS = 3_600_000

/**
 * Runs at start and on timers: repairs signers' nonces, ends payments that can't be settled, rechecks finished ones, and compares the
 * ledger with each chain's final blocks.
 */
@Injectable()
export class Recovery implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly stop = new AbortController()
  private loops: Promise<void>[] = []

  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly settler: Settler,
    private readonly gasPolicy: GasPolicy,
    private readonly funds: SignerFunds,
    private readonly metrics: BillingMetrics,
    private readonly environment: Environment,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Starts the first round and waits for it briefly: a hanging node must not block the start. */
  async onApplicationBootstrap(): Promise<void> {
    const first = this.chains.all().map((chain) => this.round(chain))
    await raceTimeout(FIRST_ROUND_MS, Promise.all(first), undefined)
    // One loop per chain, so that a hanging node does not delay other chains.
    const { recoveryMs, reconcileMs } = this.environment.LIMITS
    const loops = this.chains
      .all()
      .flatMap((chain) => [
        this.every(recoveryMs, 'a recovery round', () => this.round(chain)),
        this.every(reconcileMs, `reconciling ${chain.network}`, () => this.reconcile(chain)),
      ])
    this.loops = [
      ...first,
      ...loops,
      this.every(recoveryMs, 'ending payments on chains that are not configured', () => this.endUnconfigured()),
      this.every(recoveryMs, 'counting payments', () => this.measure()),
    ]
  }

  async onApplicationShutdown(): Promise<void> {
    this.stop.abort()
    await raceTimeout(MAX_END_MS, Promise.all(this.loops), undefined)
    await this.attempt('retiring the signers', () => this.retire())
  }

  /** Withdraws this process's signers from offers. A process that shares a key renews it in its next round. */
  private async retire(): Promise<void> {
    for (const { network, signers: own } of this.chains.all()) {
      const isOwn = and(eq(signers.network, network), inArray(signers.address, [...own.keys()]))
      await this.ledger.db
        .update(signers)
        .set({ seenAt: new Date(0) })
        .where(isOwn)
    }
  }

  private async round(chain: Chain): Promise<void> {
    await Promise.all([
      ...[...chain.signers.keys()].map((signer) =>
        this.attempt('mending nonces', () => this.repairNonces(chain, signer)),
      ),
      this.attempt('checking gas prices and budgets', () => this.refreshGas(chain)),
      this.attempt('expiring authorizations', () => this.expire(chain)),
      this.attempt('ending overdue charges that no process here submits', () => this.endUnsubmitted(chain)),
    ])
    await this.attempt('following the newest blocks', () => this.follow(chain))
  }

  private async refreshGas(chain: Chain): Promise<void> {
    await this.gasPolicy.refresh(chain)
    this.settler.wake(chain.network)
  }

  private async follow(chain: Chain): Promise<void> {
    this.report(chain, await followNewest(this.ledger.db, chain))
    this.settler.wake(chain.network)
  }

  /** Compares the next final blocks with the ledger. */
  private async reconcile(chain: Chain): Promise<void> {
    const followed = await followFinal(this.ledger.db, chain)
    if (followed !== null) {
      this.metrics.reconciledBlock.set({ network: chain.network }, Number(followed.upTo))
      this.report(chain, followed)
    }
    await measureEconomics(this.ledger.db, chain, this.metrics)
    for (const signer of chain.signers.keys()) {
      await this.funds.settlementsLeft(chain, signer)
      await recordReturned(this.ledger.db, chain, signer)
    }
  }

  /** Counts and logs the changes and the unexplained differences. */
  private report({ network }: Chain, { differences, healed, reopened }: Followed): void {
    for (const difference of differences) {
      this.metrics.differences.inc({ network, kind: difference.kind })
      this.logger.error(difference, 'the ledger and the chain differ')
    }
    for (const { id: paymentId, transaction } of healed) {
      this.metrics.transitions.inc({ state: 'settled' })
      this.logger.warn({ paymentId, network, transaction }, 'a payment is settled: its transfer was found on chain')
    }
    for (const { id: paymentId } of reopened) {
      this.metrics.reorgs.inc({ network })
      this.logger.warn(
        { paymentId, network },
        'a reorg has dropped the block of a settlement; the payment is open again',
      )
    }
  }

  private async repairNonces(chain: Chain, signer: `0x${string}`): Promise<void> {
    const { mined, next } = await repairNonces(this.ledger.db, chain, signer, this.logger)
    const labels = { network: chain.network, signer }
    this.metrics.signerMinedNonce.set(labels, mined)
    this.metrics.signerNextNonce.set(labels, next)
    this.metrics.signerBalance.set(labels, Number(await chain.latest.balance(signer)))
  }

  /** Ends reservations whose authorization can no longer be settled. */
  private async expire(chain: Chain): Promise<void> {
    const isDue = and(eq(payments.network, chain.network), isInState('authorized'))
    for (const row of await this.findOverdue(chain.head.now(), isDue)) await this.end(row)
  }

  /**
   * Ends payments on networks that `CHAINS` no longer has, at their deadline. If the network is configured again, reconciliation settles
   * those whose transfer it finds.
   */
  private async endUnconfigured(): Promise<void> {
    const known = this.chains.all().map(({ network }) => network)
    const isDue = and(notInArray(payments.network, known), isInState('authorized', 'charging', 'submitted'))
    for (const row of await this.findOverdue(BigInt(Math.floor(Date.now() / 1_000)), isDue)) {
      const { id: paymentId, network, state } = row
      this.logger.error({ paymentId, network, state }, 'CHAINS lacks the network of an overdue payment')
      await this.end(row)
    }
  }

  private async end(payment: PaymentRow): Promise<void> {
    const to = payment.state === 'authorized' ? 'expired' : 'failed'
    const ended = await changePayment(this.ledger.db, payment, { kind: to, to, reason: RefusalReason.deadlineExpired })
    if (ended !== null) this.metrics.transitions.inc({ state: to })
  }

  /** Resolves charges past their deadline that no one here submits, by the chain's state. */
  private async endUnsubmitted(chain: Chain): Promise<void> {
    const isDue = and(
      eq(payments.network, chain.network),
      isInState('charging', 'submitted'),
      or(notInArray(payments.facilitator, [...chain.signers.keys()]), isOfRefusedContract),
    )
    for (const row of await this.findOverdue(chain.head.now(), isDue)) await this.settler.resolve(row)
  }

  /** Payments past their deadline, earliest first. `now`: Unix seconds. */
  private findOverdue(now: bigint, isDue: SQL | undefined): Promise<PaymentRow[]> {
    const isLate = sql`${payments.deadline} < ${now.toString()}::numeric`
    return this.ledger.db.select().from(payments).where(and(isDue, isLate)).orderBy(asc(payments.deadline)).limit(BATCH)
  }

  private async measure(): Promise<void> {
    const states = ['authorized', 'charging', 'submitted'] as const
    const rows = await this.ledger.db
      .select({ state: payments.state, payments: count(), oldest: min(payments.chargedAt) })
      .from(payments)
      .where(isInState(...states))
      .groupBy(payments.state)
    for (const state of states) {
      this.metrics.open.set({ state }, rows.find((row) => row.state === state)?.payments ?? 0)
    }
    const oldest = Math.min(...rows.map((row) => row.oldest?.getTime() ?? Date.now()), Date.now())
    this.metrics.oldestUnsettled.set((Date.now() - oldest) / 1_000)
    const old = new Date(Date.now() - KEY_RETENTION_MS)
    await this.ledger.db
      .delete(idempotencyKeys)
      .where(and(lt(idempotencyKeys.createdAt, old), isNotNull(idempotencyKeys.refusal)))
  }

  private async every(milliseconds: number, doing: string, act: () => Promise<void>): Promise<void> {
    const { signal } = this.stop
    while (!signal.aborted) {
      await sleep(milliseconds, undefined, { signal }).catch(() => undefined)
      if (!signal.aborted) await this.attempt(doing, act)
    }
  }

  private async attempt(doing: string, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      this.logger.warn({ reason: errorText(error) }, `${doing} failed; it will be retried`)
    }
  }
}

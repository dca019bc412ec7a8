import { setTimeout as sleep } from 'node:timers/promises'
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import { and, asc, count, eq, inArray, isNotNull, lt, min, sql } from 'drizzle-orm'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { Environment } from '../environment/environment.js'
import { changePayment } from '../ledger/change-payment.js'
import { Ledger } from '../ledger/ledger.js'
import { idempotencyKeys, payments } from '../ledger/schema.js'
import { BillingMetrics } from '../metrics.js'
import { healFailed, reopenReorged } from './follow-ended.js'
import { Settler } from './settler.js'
import { mendNonces } from './signer-nonces.js'

const BATCH = 500
/** A payment that its own process has not touched for this long is taken up by whoever finds it. */
const ABANDONED_MILLISECONDS = 3_000
/** Signers' heartbeats and stray charges are looked after at least this often. */
const HANDOVER_MILLISECONDS = 500
const FIRST_ROUND_MILLISECONDS = 1_500
const KEY_RETENTION_MILLISECONDS = 7 * 24 * 3_600_000

/** At start and on a timer: takes up every payment that is not final, wherever it was left. */
@Injectable()
export class Recovery implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #stop = new AbortController()
  #loops: Promise<void>[] = []

  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly settler: Settler,
    private readonly metrics: BillingMetrics,
    private readonly environment: Environment,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Begins the first round, and waits for it as long as the nodes answer soon: a node that hangs keeps nobody waiting. */
  async onApplicationBootstrap(): Promise<void> {
    const first = this.round(0)
    await Promise.race([first, sleep(FIRST_ROUND_MILLISECONDS)])
    this.#loops = [
      first,
      this.every(this.environment.RECOVERY_INTERVAL_MS, 'a recovery round', () => this.round(ABANDONED_MILLISECONDS)),
      this.every(HANDOVER_MILLISECONDS, 'taking over charges', () => this.takeOverCharges()),
    ]
  }

  async onApplicationShutdown(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#loops)
  }

  private async round(untouchedMilliseconds: number): Promise<void> {
    await Promise.all(
      this.chains
        .all()
        .flatMap((chain) =>
          [...chain.signers.keys()].map((signer) => this.attempt('mending nonces', () => this.mend(chain, signer))),
        ),
    )
    for (const chain of this.chains.all()) {
      await this.attempt('looking for reorgs', () => this.reopen(chain))
      await this.attempt('looking for what had failed', () => this.heal(chain))
    }
    await this.attempt('expiring authorizations', () => this.expire())
    await this.attempt('taking up payments', () => this.takeUp(untouchedMilliseconds))
    await this.attempt('counting payments', () => this.measure())
  }

  private async reopen(chain: Chain): Promise<void> {
    const { network } = chain
    for (const payment of await reopenReorged(this.ledger.db, chain)) {
      this.metrics.reorgs.inc({ network })
      this.logger.warn({ paymentId: payment.id, network }, 'a settlement fell out of the chain; it is under way again')
      this.settler.begin(payment)
    }
  }

  private async heal(chain: Chain): Promise<void> {
    const { network } = chain
    for (const { id: paymentId, transaction } of await healFailed(this.ledger.db, chain)) {
      this.metrics.transitions.inc({ state: 'settled' })
      this.logger.warn(
        { paymentId, network, transaction },
        'a payment that had failed is settled: its transfer was found',
      )
    }
  }

  private async mend(chain: Chain, signer: `0x${string}`): Promise<void> {
    const { mined, next } = await mendNonces(this.ledger.db, chain, signer, this.logger)
    const labels = { network: chain.network, signer }
    this.metrics.signerMinedNonce.set(labels, mined)
    this.metrics.signerNextNonce.set(labels, next)
    this.metrics.signerBalance.set(labels, Number(await chain.balance(signer)))
  }

  /** Ends the reservations of authorizations that can no longer be settled. */
  private async expire(): Promise<void> {
    for (const chain of this.chains.all()) {
      const due = and(
        eq(payments.network, chain.network),
        eq(payments.state, 'authorized'),
        sql`${payments.deadline} < ${chain.head.now().toString()}::numeric`,
      )
      const rows = await this.ledger.db.select().from(payments).where(due).orderBy(asc(payments.deadline)).limit(BATCH)
      for (const row of rows) {
        const change = { kind: 'expired', to: 'expired', reason: 'permit2_deadline_expired' } as const
        const expired = await changePayment(this.ledger.db, row, change)
        if (expired !== null) this.metrics.transitions.inc({ state: 'expired' })
      }
    }
  }

  private async takeUp(untouchedMilliseconds: number): Promise<void> {
    const untouchedSince = new Date(Date.now() - untouchedMilliseconds)
    const rows = await this.ledger.db
      .select()
      .from(payments)
      .where(and(inArray(payments.state, ['charging', 'submitted']), lt(payments.updatedAt, untouchedSince)))
      .orderBy(asc(payments.deadline))
      .limit(BATCH)
    const abandoned = rows.filter(
      ({ id, network }) => !this.settler.drives(id) && this.chains.get(network) !== undefined,
    )
    if (abandoned.length > 0) this.logger.info({ payments: abandoned.length }, 'taking up payments')
    for (const row of abandoned) this.settler.begin(row)
  }

  /** Charges that another process stored for a signer whose key is here. */
  private async takeOverCharges(): Promise<void> {
    const own = this.chains.signerAddresses()
    if (own.length === 0) return
    const rows = await this.ledger.db
      .select()
      .from(payments)
      .where(
        and(
          eq(payments.state, 'charging'),
          inArray(payments.facilitator, own),
          lt(payments.updatedAt, new Date(Date.now() - HANDOVER_MILLISECONDS)),
        ),
      )
      .orderBy(asc(payments.deadline))
      .limit(BATCH)
    for (const row of rows) if (this.chains.get(row.network) !== undefined) this.settler.begin(row)
  }

  private async measure(): Promise<void> {
    const states = ['authorized', 'charging', 'submitted'] as const
    const rows = await this.ledger.db
      .select({ state: payments.state, payments: count(), oldest: min(payments.chargedAt) })
      .from(payments)
      .where(inArray(payments.state, [...states]))
      .groupBy(payments.state)
    for (const state of states) {
      this.metrics.open.set({ state }, rows.find((row) => row.state === state)?.payments ?? 0)
    }
    const oldest = Math.min(...rows.map((row) => row.oldest?.getTime() ?? Date.now()), Date.now())
    this.metrics.oldestUnsettled.set((Date.now() - oldest) / 1_000)
    const old = new Date(Date.now() - KEY_RETENTION_MILLISECONDS)
    await this.ledger.db
      .delete(idempotencyKeys)
      .where(and(lt(idempotencyKeys.createdAt, old), isNotNull(idempotencyKeys.refusal)))
  }

  private async every(milliseconds: number, doing: string, act: () => Promise<void>): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await sleep(milliseconds, undefined, { signal: this.#stop.signal }).catch(() => undefined)
      if (!this.#stop.signal.aborted) await this.attempt(doing, act)
    }
  }

  private async attempt(doing: string, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      this.logger.warn({ reason: errorText(error) }, `${doing} failed; it will be repeated`)
    }
  }
}

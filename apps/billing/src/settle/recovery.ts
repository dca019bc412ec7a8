import { setTimeout as sleep } from 'node:timers/promises'
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { RefusalReason } from '@upfront/protocol'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import { and, asc, count, eq, inArray, isNotNull, lt, min, notInArray, or, sql } from 'drizzle-orm'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { Environment } from '../environment/environment.js'
import { changePayment } from '../ledger/change-payment.js'
import { Ledger } from '../ledger/ledger.js'
import { idempotencyKeys, type PaymentRow, payments } from '../ledger/schema.js'
import { BillingMetrics } from '../metrics.js'
import { endWithin } from './end-within.js'
import { healFailed, reopenReorged } from './follow-ended.js'
import { Settler } from './settler.js'
import { mendNonces } from './signer-nonces.js'

const BATCH = 500
/** A payment of an unknown network may have been settled in time by a process that knew it. */
const UNCONFIGURED_GRACE_SECONDS = 3_600
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
    const first = this.chains.all().map((chain) => this.round(chain, 0))
    await Promise.race([Promise.all(first), sleep(FIRST_ROUND_MILLISECONDS)])
    const interval = this.environment.RECOVERY_INTERVAL_MS
    // Each chain has a loop of its own: a node that hangs keeps no other chain waiting.
    const rounds = this.chains
      .all()
      .map((chain) => this.every(interval, 'a recovery round', () => this.round(chain, ABANDONED_MILLISECONDS)))
    this.#loops = [
      ...first,
      ...rounds,
      this.every(interval, 'ending what no chain is configured for', () => this.endUnconfigured()),
      this.every(interval, 'counting payments', () => this.measure()),
      this.every(HANDOVER_MILLISECONDS, 'taking over charges', () => this.takeOverCharges()),
    ]
  }

  async onApplicationShutdown(): Promise<void> {
    this.#stop.abort()
    await endWithin(Promise.all(this.#loops))
  }

  private async round(chain: Chain, untouchedMilliseconds: number): Promise<void> {
    await Promise.all([
      ...[...chain.signers.keys()].map((signer) => this.attempt('mending nonces', () => this.mend(chain, signer))),
      this.attempt('expiring authorizations', () => this.expire(chain)),
      this.attempt('taking up payments', () => this.takeUp(chain, untouchedMilliseconds)),
    ])
    await this.attempt('looking for reorgs', () => this.reopen(chain))
    await this.attempt('looking for what had failed', () => this.heal(chain))
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
  private async expire(chain: Chain): Promise<void> {
    const isDue = and(
      eq(payments.network, chain.network),
      eq(payments.state, 'authorized'),
      sql`${payments.deadline} < ${chain.head.now().toString()}::numeric`,
    )
    const rows = await this.ledger.db.select().from(payments).where(isDue).orderBy(asc(payments.deadline)).limit(BATCH)
    for (const row of rows) await this.end(row)
  }

  /** Payments of networks that `CHAINS` no longer names: nobody here can look for them. Their deadline ends them. */
  private async endUnconfigured(): Promise<void> {
    const known = this.chains.all().map(({ network }) => network)
    const until = Math.floor(Date.now() / 1_000) - UNCONFIGURED_GRACE_SECONDS
    const isDue = and(
      notInArray(payments.network, known),
      inArray(payments.state, ['authorized', 'charging', 'submitted']),
      sql`${payments.deadline} < ${until}::numeric`,
    )
    const rows = await this.ledger.db.select().from(payments).where(isDue).limit(BATCH)
    for (const row of rows) {
      const { id: paymentId, network, state } = row
      this.logger.error({ paymentId, network, state }, 'CHAINS does not name the network of a payment that is late')
      await this.end(row)
    }
  }

  private async end(payment: PaymentRow): Promise<void> {
    const to = payment.state === 'authorized' ? 'expired' : 'failed'
    const ended = await changePayment(this.ledger.db, payment, { kind: to, to, reason: RefusalReason.deadlineExpired })
    if (ended !== null) this.metrics.transitions.inc({ state: to })
  }

  /** What this process can bring on: payments of its own signers, and those whose deadline will end them. */
  private async takeUp(chain: Chain, untouchedMilliseconds: number): Promise<void> {
    const untouchedSince = new Date(Date.now() - untouchedMilliseconds)
    const isNotDriven = noneOf(this.settler.driven())
    const late = sql`${payments.deadline} < ${chain.head.now().toString()}::numeric`
    const rows = await this.ledger.db
      .select()
      .from(payments)
      .where(
        and(
          eq(payments.network, chain.network),
          inArray(payments.state, ['charging', 'submitted']),
          lt(payments.updatedAt, untouchedSince),
          or(inArray(payments.facilitator, [...chain.signers.keys()]), late),
          isNotDriven,
        ),
      )
      .orderBy(asc(payments.deadline))
      .limit(BATCH)
    if (rows.length > 0) this.logger.info({ network: chain.network, payments: rows.length }, 'taking up payments')
    for (const row of rows) this.settler.begin(row)
  }

  /** Charges that another process stored for a signer whose key is here. */
  private async takeOverCharges(): Promise<void> {
    const own = this.chains.signerAddresses()
    if (own.length === 0) return
    const isNotDriven = noneOf(this.settler.driven())
    const rows = await this.ledger.db
      .select()
      .from(payments)
      .where(
        and(
          eq(payments.state, 'charging'),
          inArray(payments.facilitator, own),
          inArray(
            payments.network,
            this.chains.all().map(({ network }) => network),
          ),
          isNotDriven,
          lt(payments.updatedAt, new Date(Date.now() - HANDOVER_MILLISECONDS)),
        ),
      )
      .orderBy(asc(payments.deadline))
      .limit(BATCH)
    for (const row of rows) this.settler.begin(row)
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

/** One parameter, however many ids. */
function noneOf(ids: readonly string[]) {
  return sql`${payments.id} <> all(string_to_array(${ids.join(',')}::text, ','))`
}

import { EventEmitter, once } from 'node:events'
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { type Address, isFinal, type Network, standingOf } from '@upfront/protocol'
import { LOGGER, type Logger } from '@upfront/service'
import { type SQL, sql } from 'drizzle-orm'
import { Chains } from '../chain/chains.js'
import { raceTimeout } from '../chain/race-timeout.js'
import { Environment } from '../environment/environment.js'
import { findPaymentById } from '../ledger/find-payment.js'
import { Ledger } from '../ledger/ledger.js'
import { isOfRefusedContract } from '../ledger/refused-payers.js'
import { type PaymentRow, payments } from '../ledger/schema.js'
import { BillingMetrics } from '../metrics.js'
import { ChainSettler } from './chain-settler.js'
import { GasPolicy, type GasWait } from './signers/gas-policy.js'
import { SigningQueue } from './signers/signing-queue.js'

/** How long shutdown waits for work under way. The rest is resumed at the next start. */
export const MAX_END_MS = 5_000
/** If the node takes longer than this, the payment is not called doubtful. */
const LAST_LOOK_MS = 1_000

/** Settles all charged payments. Chains are independent: a hanging node delays only its own chain. */
@Injectable()
export class Settler implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly chains: ReadonlyMap<Network, ChainSettler>
  /** By payment id: it is mined, final or doubtful. Carries the row if this process wrote it. */
  private readonly progress = new EventEmitter().setMaxListeners(0)
  private loops: Promise<void>[] = []

  constructor(
    private readonly ledger: Ledger,
    chains: Chains,
    signing: SigningQueue,
    private readonly gasPolicy: GasPolicy,
    metrics: BillingMetrics,
    private readonly environment: Environment,
    @Inject(LOGGER) logger: Logger,
  ) {
    const onProgress = (payment: PaymentRow) => {
      if (standingOf(payment) !== 'pending') this.progress.emit(payment.id, payment)
    }
    const settling = { db: ledger.db, signing, environment, metrics, logger }
    this.chains = new Map(
      chains.all().map((chain) => [chain.network, new ChainSettler({ ...settling, chain }, gasPolicy, onProgress)]),
    )
  }

  onApplicationBootstrap(): void {
    this.ledger.changes.on('progress', ({ network, id, state, isKnown }) => {
      if (isKnown || isFinal(state)) this.progress.emit(id)
      // The request that stored the charge may already be handling it in this process.
      else if (state === 'charging' && !this.chains.get(network)?.isWorkingOn(id)) this.wake(network)
    })
    this.loops = [...this.chains.values()].map((chain) => chain.run())
  }

  /** Waits for work under way; the rest is resumed at the next start. */
  async onApplicationShutdown(): Promise<void> {
    for (const chain of this.chains.values()) chain.stop()
    await raceTimeout(MAX_END_MS, Promise.all(this.loops), undefined)
  }

  /**
   * Stores a charge and starts its settlement. If its signer has capacity, the charge is claimed as it is stored.
   * @param store writes the charge with `nextLook`, and resolves once it is committed
   * @param chargedOf the stored payment; `null` if none was stored
   */
  async storeCharge<T>(
    id: string,
    store: (nextLook: SQL<Date>) => Promise<T>,
    chargedOf: (stored: T) => PaymentRow | null,
  ): Promise<T> {
    const chains = [...this.chains]
    const free = chains.flatMap(([network, chain]) => chain.offer(id).map((signer) => `${network}/${signer}`))
    try {
      const stored = await store(claimedFor(free, this.environment.LIMITS.recoveryMs))
      const charged = chargedOf(stored)
      if (charged?.state !== 'charging') return stored
      const isClaimed = (charged.nextLook?.getTime() ?? 0) > 0
      if (isClaimed) this.chains.get(charged.network)?.take(charged)
      else this.wake(charged.network)
      return stored
    } finally {
      for (const [, chain] of chains) chain.withdraw(id)
    }
  }

  /** Tells that this chain may have work. */
  wake(network: Network): void {
    this.chains.get(network)?.wake()
  }

  /** What a charge waits for before it is submitted; `null` if nothing, or if it is no longer `charging`. */
  waitOf({ state, network, facilitator }: PaymentRow): GasWait | null {
    return state === 'charging' ? this.gasPolicy.waitOf({ network }, facilitator) : null
  }

  /** Signers of a chain that should send batches but can't, with the reason. */
  batchObstacles(network: Network): Record<Address, string> {
    return this.chains.get(network)?.batchObstacles ?? {}
  }

  /** Ends or continues a charge whose signer's key no process may have. */
  async resolve(payment: PaymentRow): Promise<void> {
    await this.chains.get(payment.network)?.submissions.resolve(payment)
  }

  /** Resolves once the payment is mined, failed or doubtful. After `milliseconds` at the latest, with a final check of the newest block. */
  async waitUntilKnown(payment: PaymentRow, milliseconds: number): Promise<PaymentRow> {
    const until = Date.now() + milliseconds
    let current = payment
    for (let left = milliseconds; standingOf(current) === 'pending' && left > 0; left = until - Date.now()) {
      // Notifications may be lost, so the payment is also read at the polling interval.
      const longest = Math.min(this.environment.LIMITS.recoveryMs, left)
      const heard = once(this.progress, payment.id, { signal: AbortSignal.timeout(longest) })
      const [seen] = (await heard.catch(() => [])) as [PaymentRow?]
      current = seen ?? (await findPaymentById(this.ledger.db, payment.id)) ?? current
    }
    if (milliseconds === 0 || standingOf(current) !== 'pending') return current
    const examined = this.chains.get(payment.network)?.submissions.examine(current) ?? current
    return raceTimeout(LAST_LOOK_MS, examined, current)
  }
}

/** The next look of a charge: later if one of these signers (`network/address`) is about to settle it, else at once. */
function claimedFor(signers: readonly string[], milliseconds: number): SQL<Date> {
  const isClaimed = sql`${payments.network} || '/' || ${payments.facilitator} = any(string_to_array(${signers.join()}::text, ','))
    and not ${isOfRefusedContract}`
  return sql`case when ${isClaimed} then now() + ${milliseconds} * interval '1 millisecond' else to_timestamp(0) end`
}

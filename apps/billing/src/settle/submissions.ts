import { type TraceDetails, traced } from '@upfront/node'
import { errorText, type Logger } from '@upfront/service'
import type { Chain } from '../chain/chain.js'
import { NodeFault, NodeRefusal } from '../chain/node-error.js'
import type { Environment } from '../environment/environment.js'
import type { Claimant } from '../ledger/claim-work.js'
import type { Database } from '../ledger/ledger.js'
import type { PaymentRow, SignedTransactionRow } from '../ledger/schema.js'
import type { BillingMetrics } from '../metrics.js'
import { HeadPoll } from './head-poll.js'
import { InFlight } from './in-flight.js'
import { examine, resolveDoubt, type TrackResult, track, trackReceipt } from './outcome/track.js'
import { reportEnd } from './report-end.js'
import { prepare, type SigningQueue } from './signers/signing-queue.js'
import { Broadcasts } from './submit/broadcasts.js'

/** Dependencies for settling the payments of one chain. */
export interface Settling {
  chain: Chain
  db: Database
  signing: SigningQueue
  environment: Environment
  metrics: BillingMetrics
  logger: Logger
}

/** Callbacks to the claimer of payments. */
export interface Claiming {
  /** A payment advanced. */
  onProgress(payment: PaymentRow): void
  /** A payment was mined: its signer has capacity for another. */
  onMined(payment: PaymentRow): void
  /** A payment must be signed again. Returns `false` if no batch takes it. */
  putBack(payment: PaymentRow): boolean
  /** Work ended, or a block arrived. */
  onRoom(): void
}

/** Submits the charges of one chain and follows them block by block. */
export class Submissions {
  readonly #working = new Map<string, PaymentRow>()
  readonly #inFlight: InFlight
  readonly #headPoll: HeadPoll
  readonly #broadcasts: Broadcasts
  readonly #settling: Settling
  readonly #claiming: Claiming
  #isReadingReceipts = false
  #hasNewBlock = false

  constructor(settling: Settling, claiming: Claiming) {
    const { chain, db, logger } = settling
    this.#settling = settling
    this.#claiming = claiming
    this.#inFlight = new InFlight(db)
    const read = () => this.attempt('reading the head', {}, async () => void (await chain.head.refresh()))
    this.#headPoll = new HeadPoll(() => this.#inFlight.size > 0, read)
    this.#broadcasts = new Broadcasts(chain, logger, () => this.#headPoll.sent())
    chain.head.onChange(() => void this.#onBlock())
  }

  /** Payments being worked on, by id, as they were claimed. */
  get working(): ReadonlyMap<string, PaymentRow> {
    return this.#working
  }

  /** Whether nothing is under way. */
  get isIdle(): boolean {
    return this.#working.size === 0 && !this.#isReadingReceipts
  }

  /** Polls the head until stopped. */
  run(): Promise<void> {
    return this.#headPoll.run()
  }

  stop(): void {
    this.#headPoll.stop()
  }

  /** Reads what other processes have submitted, unless that was done recently. */
  async refresh(claimant: Claimant): Promise<void> {
    await this.#inFlight.refresh(claimant)
  }

  /** Looks at each claimed payment once and takes the next step. */
  take(claimed: readonly PaymentRow[]): void {
    for (const payment of claimed) {
      void this.#work(payment, async () => {
        if (payment.state === 'charging') return this.#submit(payment)
        const { db, chain, environment } = this.#settling
        await this.#follow(payment, await track(db, chain, payment, environment.LIMITS.feeBumpMs))
      })
    }
  }

  /** Resolves charges that would not settle now. */
  takeDoubtful(claimed: readonly PaymentRow[]): void {
    for (const payment of claimed) void this.#work(payment, () => this.resolve(payment))
  }

  /** Judges a charge that can't be submitted here by the chain's state. Throws `NodeFault`. */
  async resolve(payment: PaymentRow): Promise<void> {
    await this.#follow(payment, await resolveDoubt(this.#settling.db, this.#settling.chain, payment))
  }

  /** Checks the newest block for a doubt about the payment. Returns it updated, or unchanged if the node does not answer. */
  async examine(payment: PaymentRow): Promise<PaymentRow> {
    let examined = payment
    await this.attempt('examining a payment', { paymentId: payment.id }, async () => {
      const result = await examine(this.#settling.db, this.#settling.chain, payment)
      if ('payment' in result) examined = result.payment
      await this.#follow(payment, result)
    })
    return examined
  }

  /** Broadcasts a stored transaction. Its payments count as submitted from then on. */
  async send(transaction: SignedTransactionRow, payments: readonly PaymentRow[]): Promise<void> {
    this.#inFlight.add(payments, transaction)
    this.#settling.metrics.transitions.inc({ state: 'submitted' }, payments.length)
    await this.#broadcasts.send(transaction)
  }

  /** Logs a failure and goes on: the work is retried later. */
  async attempt(doing: string, ids: { paymentId?: string }, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      const level = error instanceof NodeFault || error instanceof NodeRefusal ? 'warn' : 'error'
      const { chain, logger } = this.#settling
      logger[level]({ ...ids, network: chain.network, reason: errorText(error) }, `${doing} failed; it will be retried`)
    }
  }

  async #work(payment: PaymentRow, act: () => Promise<void>): Promise<void> {
    this.#working.set(payment.id, payment)
    await this.attempt('settling a payment', { paymentId: payment.id }, () => traced('settle', act, traceOf(payment)))
    this.#working.delete(payment.id)
    this.#claiming.onRoom()
  }

  async #onBlock(): Promise<void> {
    this.#hasNewBlock = true
    // The next transaction can be sent while receipts are read.
    this.#claiming.onRoom()
    if (this.#isReadingReceipts) return
    this.#isReadingReceipts = true
    while (this.#hasNewBlock) {
      this.#hasNewBlock = false
      // Payments in flight, and those that have just reached their confirmations.
      await Promise.all(this.#inFlight.due(this.#settling.chain.confirmedBlock).map((one) => this.#readReceipt(one)))
      this.#claiming.onRoom()
    }
    this.#isReadingReceipts = false
  }

  async #readReceipt(payment: PaymentRow): Promise<void> {
    const read = async () => {
      const result = await trackReceipt(this.#settling.db, this.#settling.chain, payment)
      if (result === null) return
      if (payment.blockNumber === null) {
        if (payment.submittedAt !== null) this.#headPoll.mined(Date.now() - payment.submittedAt.getTime())
        if ('payment' in result && result.payment.blockNumber !== null) this.#claiming.onMined(payment)
      }
      await this.#follow(payment, result)
    }
    const { id: paymentId } = payment
    await this.attempt('reading a receipt', { paymentId }, () => traced('read receipt', read, traceOf(payment)))
  }

  async #follow(payment: PaymentRow, result: TrackResult): Promise<void> {
    const { chain, metrics, logger } = this.#settling
    if ('payment' in result) this.#claiming.onProgress(result.payment)
    this.#inFlight.note(payment, result)
    switch (result.outcome) {
      case 'waiting':
      case 'moved on':
        return
      case 'final':
        return reportEnd(result.payment, metrics, logger)
      case 'broadcast':
        if (result.bumped) metrics.feeBumps.inc({ network: chain.network })
        return this.#broadcasts.send(result.transaction)
      case 'resubmit':
        if (!this.#claiming.putBack(payment)) await this.#submit(payment)
    }
  }

  /** Signs and sends a charge's settlement if it would succeed; also again, if none of its transactions can be mined any more. */
  async #submit(payment: PaymentRow): Promise<void> {
    const { chain, signing } = this.#settling
    const [settlement, fees] = await Promise.all([prepare(chain, payment), chain.fees()])
    if (settlement === null) return this.resolve(payment)
    const transaction = await signing.sign(chain, [settlement], fees)
    // `null`: another process changed the payment first.
    if (transaction !== null) await this.send(transaction, [payment])
  }
}

/** Links to the trace of the request that charged the payment, if this process served it. */
function traceOf({ id, network }: PaymentRow): TraceDetails {
  return { follows: id, attributes: { 'payment.id': id, network } }
}

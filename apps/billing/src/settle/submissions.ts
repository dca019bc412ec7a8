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

/** What settles the payments of one chain. */
export interface Settling {
  chain: Chain
  db: Database
  signing: SigningQueue
  environment: Environment
  metrics: BillingMetrics
  logger: Logger
}

/** What whoever claims payments wants to know of them. */
export interface Claiming {
  /** A payment came further. */
  onProgress(payment: PaymentRow): void
  /** It was mined: its signer has room for another. */
  onMined(payment: PaymentRow): void
  /** A payment has to be signed anew. `false`: not by a claimed batch. */
  putBack(payment: PaymentRow): boolean
  /** Something has ended, or a block came. */
  onRoom(): void
}

/** Submits the charges of one chain, and follows what became of them with each block. */
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

  /** The payments that are worked on, by their id, as they were taken up. */
  get working(): ReadonlyMap<string, PaymentRow> {
    return this.#working
  }

  /** Nothing is under way. */
  get isIdle(): boolean {
    return this.#working.size === 0 && !this.#isReadingReceipts
  }

  /** Reads the head until it is stopped. */
  run(): Promise<void> {
    return this.#headPoll.run()
  }

  stop(): void {
    this.#headPoll.stop()
  }

  /** Looks what other processes have submitted, unless that was not long ago. */
  async refresh(claimant: Claimant): Promise<void> {
    await this.#inFlight.refresh(claimant)
  }

  /** One look at each claimed payment, and whatever follows from it at once. */
  take(claimed: readonly PaymentRow[]): void {
    for (const payment of claimed) {
      void this.#work(payment, async () => {
        if (payment.state === 'charging') return this.#submit(payment)
        const { db, chain, environment } = this.#settling
        await this.#follow(payment, await track(db, chain, payment, environment.LIMITS.feeBumpMs))
      })
    }
  }

  /** The same of charges that look as if they could not be settled. */
  takeDoubtful(claimed: readonly PaymentRow[]): void {
    for (const payment of claimed) void this.#work(payment, () => this.resolve(payment))
  }

  /** Judges a charge that can't be submitted here by the chain's facts. Throws `NodeFault`. */
  async resolve(payment: PaymentRow): Promise<void> {
    await this.#follow(payment, await resolveDoubt(this.#settling.db, this.#settling.chain, payment))
  }

  /** The payment as it is after a look at what the newest block has against it; as it was where the node does not answer. */
  async examine(payment: PaymentRow): Promise<PaymentRow> {
    let examined = payment
    await this.attempt('examining a payment', { paymentId: payment.id }, async () => {
      const result = await examine(this.#settling.db, this.#settling.chain, payment)
      if ('payment' in result) examined = result.payment
      await this.#follow(payment, result)
    })
    return examined
  }

  /** Broadcasts what was signed and stored. Its payments are submitted from then on. */
  async send(transaction: SignedTransactionRow, payments: readonly PaymentRow[]): Promise<void> {
    this.#inFlight.add(payments, transaction)
    this.#settling.metrics.transitions.inc({ state: 'submitted' }, payments.length)
    await this.#broadcasts.send(transaction)
  }

  /** Nothing that fails is lost: it is looked at again. */
  async attempt(doing: string, ids: { paymentId?: string }, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      const level = error instanceof NodeFault || error instanceof NodeRefusal ? 'warn' : 'error'
      const { chain, logger } = this.#settling
      logger[level](
        { ...ids, network: chain.network, reason: errorText(error) },
        `${doing} failed; it will be repeated`,
      )
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
    // Whoever waited for the block before may send the next transaction while receipts are read.
    this.#claiming.onRoom()
    if (this.#isReadingReceipts) return
    this.#isReadingReceipts = true
    while (this.#hasNewBlock) {
      this.#hasNewBlock = false
      // Of all that is in flight, or has its confirmations now.
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

  /** Signs and sends a charge's settlement where it would succeed; also anew, where none of its transactions can be mined any more. */
  async #submit(payment: PaymentRow): Promise<void> {
    const { chain, signing } = this.#settling
    const [settlement, fees] = await Promise.all([prepare(chain, payment), chain.fees()])
    if (settlement === null) return this.resolve(payment)
    const transaction = await signing.sign(chain, [settlement], fees)
    // `null`: another process was faster.
    if (transaction !== null) await this.send(transaction, [payment])
  }
}

/** The trace of the request that charged it, where this process served that. */
function traceOf({ id, network }: PaymentRow): TraceDetails {
  return { follows: id, attributes: { 'payment.id': id, network } }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { type TraceDetails, traced } from '@upfront/node'
import type { Address } from '@upfront/protocol'
import { errorText, type Logger } from '@upfront/service'
import type { Chain } from '../chain/chain.js'
import { NodeFault, NodeRefusal } from '../chain/node-error.js'
import type { Environment } from '../environment/environment.js'
import { type Claimant, claimCharges, claimSubmitted, readWork, type SignerCapacity } from '../ledger/claim-work.js'
import type { Database } from '../ledger/ledger.js'
import type { PaymentRow, SignedTransactionRow } from '../ledger/schema.js'
import type { BillingMetrics } from '../metrics.js'
import { HeadPoll } from './head-poll.js'
import { InFlight } from './in-flight.js'
import { examine, resolveDoubt, type TrackResult, track, trackReceipt } from './outcome/track.js'
import { reportEnd } from './report-end.js'
import type { GasPolicy } from './signers/gas-policy.js'
import { prepare, type SigningQueue } from './signers/signing-queue.js'
import { Batches } from './submit/batches.js'
import { Broadcasts } from './submit/broadcasts.js'

const LONGEST_PAUSE_MILLISECONDS = 200

/**
 * Settles the payments of one chain. What is to be done is in the ledger: this claims as much as there is room for, whenever a
 * charge is stored, a block comes, or something has ended; and looks from time to time all the same.
 */
export class ChainSettler {
  readonly #working = new Map<string, PaymentRow>()
  readonly #inFlight: InFlight
  readonly #headPoll: HeadPoll
  readonly #batches: Batches
  readonly #broadcasts: Broadcasts
  /** Signers whose next batch is being made; `true`: there is more to look for afterwards. */
  readonly #batching = new Map<Address, boolean>()
  /** How many more charges each signer could submit at the last look, less what it was given since. */
  readonly #room = new Map<Address, number>()
  /** Charges that are being stored, and may be taken up here once they are. */
  readonly #offered = new Set<string>()
  /** Charges that were taken up since the last look began. */
  #taken: PaymentRow[] = []
  #stopped = false
  #isWoken = false
  #wakeUp = () => {}
  /** Whether charges were left behind for want of capacity. */
  #isFull = false
  #isReadingReceipts = false
  #hasNewBlock = false
  readonly #chain: Chain
  readonly #db: Database
  readonly #signing: SigningQueue
  readonly #gasPolicy: GasPolicy
  readonly #environment: Environment
  readonly #metrics: BillingMetrics
  readonly #logger: Logger
  readonly #onProgress: (payment: PaymentRow) => void

  constructor(
    chain: Chain,
    db: Database,
    signing: SigningQueue,
    gasPolicy: GasPolicy,
    environment: Environment,
    metrics: BillingMetrics,
    logger: Logger,
    onProgress: (payment: PaymentRow) => void,
  ) {
    this.#onProgress = onProgress
    this.#chain = chain
    this.#db = db
    this.#signing = signing
    this.#gasPolicy = gasPolicy
    this.#environment = environment
    this.#metrics = metrics
    this.#logger = logger
    const read = () => this.#attempt('reading the head', {}, async () => void (await chain.head.refresh()))
    this.#inFlight = new InFlight(db)
    this.#batches = new Batches(chain, db, signing, environment, logger)
    this.#headPoll = new HeadPoll(() => this.#inFlight.size > 0, read)
    this.#broadcasts = new Broadcasts(chain, logger, () => this.#headPoll.sent())
    chain.head.onChange(() => void this.#onBlock())
  }

  /** Ends once it is stopped and what was under way has ended. */
  async run(): Promise<void> {
    const polling = this.#headPoll.run()
    while (!this.#stopped) {
      this.#isWoken = false
      await this.#attempt('claiming work', {}, () => this.#claim())
      await this.#pause()
    }
    await polling
    while (this.#working.size > 0 || this.#batching.size > 0 || this.#isReadingReceipts) await sleep(20)
  }

  stop(): void {
    this.#stopped = true
    this.#headPoll.stop()
    this.wake()
  }

  wake(): void {
    this.#isWoken = true
    this.#wakeUp()
  }

  isWorkingOn(paymentId: string): boolean {
    return this.#working.has(paymentId) || this.#offered.has(paymentId)
  }

  /** The signers that could submit one more charge at once, which is about to be stored. Followed by `withdraw`. */
  offer(paymentId: string): Address[] {
    this.#offered.add(paymentId)
    // What was left behind goes first.
    if (this.#stopped || this.#isFull) return []
    const isFree = ([signer, room]: [Address, number]) =>
      room >= this.#offered.size &&
      this.#gasPolicy.waitOf(this.#chain, signer) === null &&
      !this.#batches.serves(signer)
    return [...this.#room].filter(isFree).map(([signer]) => signer)
  }

  /** Submits a charge that was claimed as it was stored. */
  take(charged: PaymentRow): void {
    this.#addRoom(charged, -1)
    this.#taken.push(charged)
    this.#workOn([charged])
  }

  /** The charge is stored, or not. */
  withdraw(paymentId: string): void {
    this.#offered.delete(paymentId)
  }

  #addRoom({ facilitator }: PaymentRow, charges: number): void {
    const room = this.#room.get(facilitator)
    if (room !== undefined) this.#room.set(facilitator, room + charges)
  }

  /** Signers that should settle in batches and can't, and why. */
  get batchObstacles(): Record<Address, string> {
    const all = [...this.#chain.signers.keys()].map((signer) => [signer, this.#batches.obstacleOf(signer)] as const)
    return Object.fromEntries(all.filter((each): each is readonly [Address, string] => each[1] !== null))
  }

  /** Judges a charge that can't be submitted here by the chain's facts. Throws `NodeFault`. */
  async resolve(payment: PaymentRow): Promise<void> {
    await this.#follow(payment, await resolveDoubt(this.#db, this.#chain, payment))
  }

  /** The payment as it is after a look at what the newest block has against it; as it was where the node does not answer. */
  async examine(payment: PaymentRow): Promise<PaymentRow> {
    let examined = payment
    await this.#attempt('examining a payment', { paymentId: payment.id }, async () => {
      const result = await examine(this.#db, this.#chain, payment)
      if ('payment' in result) examined = result.payment
      await this.#follow(payment, result)
    })
    return examined
  }

  async #pause(): Promise<void> {
    if (this.#isWoken) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#environment.LIMITS.recoveryMs)
      this.#wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async #claim(): Promise<void> {
    const claimant: Claimant = {
      network: this.#chain.network,
      signers: [...this.#chain.signers.keys()],
      working: [...this.#working.keys()],
      nextLookMilliseconds: this.#environment.LIMITS.recoveryMs,
    }
    // What is signed while the ledger is read is counted twice for a moment, rather than not at all.
    const charging = [...this.#working.values()].filter(({ state }) => state === 'charging')
    this.#taken = []
    const work = await readWork(this.#db, claimant, this.#chain.confirmedBlock)
    await this.#inFlight.refresh(claimant)
    const taken: SignerCapacity[] = [
      ...work,
      ...[...charging, ...this.#taken].map(({ facilitator: signer }) => ({ signer, count: 1 })),
      ...claimant.signers.map((signer) => ({ signer, count: this.#offered.size })),
    ]
    const charged = new Set(work.filter(({ hasCharges }) => hasCharges).map(({ signer }) => signer))
    const inFlight = this.#environment.LIMITS.inFlightPerSigner
    const ready = claimant.signers.filter((signer) => this.#gasPolicy.waitOf(this.#chain, signer) === null)
    const single = ready.filter((signer) => !this.#batches.serves(signer))
    for (const signer of ready.filter((signer) => this.#batches.serves(signer))) {
      const isDue = charged.has(signer) || this.#batches.hasPutBack(signer)
      if (isDue) this.#takeBatch(signer, claimant)
    }
    const due = single.filter((signer) => charged.has(signer))
    const capacities = due
      .map((signer) => ({ signer, count: inFlight - countOf(taken, signer) }))
      .filter(({ count }) => count > 0)
    // Nobody is given what is claimed for.
    for (const signer of claimant.signers)
      this.#room.set(signer, due.includes(signer) ? 0 : inFlight - countOf(taken, signer) + this.#offered.size)
    const claimed = capacities.length === 0 ? [] : await claimCharges(this.#db, claimant, capacities)
    const counts = claimed.map(({ facilitator: signer }) => ({ signer, count: 1 }))
    const isUsedUp = ({ signer, count }: SignerCapacity) => countOf(counts, signer) === count
    this.#isFull = single.length < ready.length || capacities.length < due.length || capacities.some(isUsedUp)
    for (const { signer, count } of capacities) this.#room.set(signer, count - countOf(counts, signer))
    this.#workOn(claimed)
    if (!work.some(({ hasSubmitted }) => hasSubmitted)) return
    const { SETTLEMENT, LIMITS } = this.#environment
    const most = (SETTLEMENT === 'batch' ? LIMITS.batchSize : inFlight) * claimant.signers.length
    this.#workOn(await claimSubmitted(this.#db, claimant, this.#chain.confirmedBlock, most))
  }

  /** Lets the signer settle a batch, unless it is at it, or was a moment ago. */
  #takeBatch(signer: Address, claimant: Claimant): void {
    if (this.#batching.has(signer)) return void this.#batching.set(signer, true)
    const pause = this.#batches.pauseOf(signer)
    this.#batching.set(signer, pause > 0)
    const take = async () => {
      // In parts, so that a stop does not wait for long.
      if (pause > 0) return sleep(Math.min(pause, LONGEST_PAUSE_MILLISECONDS))
      const { transaction, settled, doubtful } = await this.#batches.take(signer, claimant)
      for (const payment of doubtful) void this.#work(payment, () => this.resolve(payment))
      if (transaction === null) return
      this.#batching.set(signer, true)
      if (settled.length > 0) this.#metrics.batchSizes.observe({ network: this.#chain.network }, settled.length)
      await this.#send(transaction, settled)
    }
    void this.#attempt('settling a batch', {}, take).then(() => {
      const hasMore = this.#batching.get(signer)
      this.#batching.delete(signer)
      if (hasMore) this.wake()
    })
  }

  #workOn(claimed: readonly PaymentRow[]): void {
    for (const payment of claimed) void this.#work(payment, () => this.#look(payment))
  }

  /** One look at a payment, and whatever follows from it at once. */
  async #look(payment: PaymentRow): Promise<void> {
    if (payment.state === 'charging') return this.#submit(payment)
    return this.#follow(payment, await track(this.#db, this.#chain, payment, this.#environment.LIMITS.feeBumpMs))
  }

  /** Nothing that fails is lost: it is looked at again. */
  async #work(payment: PaymentRow, act: () => Promise<void>): Promise<void> {
    this.#working.set(payment.id, payment)
    await this.#attempt('settling a payment', { paymentId: payment.id }, () => traced('settle', act, traceOf(payment)))
    this.#working.delete(payment.id)
    if (this.#isFull) this.wake()
  }

  async #onBlock(): Promise<void> {
    this.#hasNewBlock = true
    // Whoever waited for the block before may send the next transaction while receipts are read.
    if (this.#isFull) this.wake()
    if (this.#isReadingReceipts) return
    this.#isReadingReceipts = true
    while (this.#hasNewBlock) {
      this.#hasNewBlock = false
      await this.#attempt('reading receipts', {}, () => this.#readReceipts())
    }
    this.#isReadingReceipts = false
  }

  /** Once per head: the receipts of all that is in flight, or has its confirmations now. */
  async #readReceipts(): Promise<void> {
    const read = async (payment: PaymentRow) => {
      const result = await trackReceipt(this.#db, this.#chain, payment)
      if (result === null) return
      if (payment.blockNumber === null && payment.submittedAt !== null) {
        this.#headPoll.mined(Date.now() - payment.submittedAt.getTime())
      }
      const isMined = 'payment' in result && result.payment.blockNumber !== null
      if (isMined && payment.blockNumber === null) this.#addRoom(payment, 1)
      await this.#follow(payment, result)
    }
    await Promise.all(
      this.#inFlight
        .due(this.#chain.confirmedBlock)
        .map((payment) =>
          this.#attempt('reading a receipt', { paymentId: payment.id }, () =>
            traced('read receipt', () => read(payment), traceOf(payment)),
          ),
        ),
    )
    if (this.#isFull) this.wake()
  }

  async #follow(payment: PaymentRow, result: TrackResult): Promise<void> {
    if ('payment' in result) this.#onProgress(result.payment)
    this.#inFlight.note(payment, result)
    switch (result.outcome) {
      case 'waiting':
      case 'moved on':
        return
      case 'final':
        return reportEnd(result.payment, this.#metrics, this.#logger)
      case 'broadcast':
        if (result.bumped) this.#metrics.feeBumps.inc({ network: this.#chain.network })
        return this.#broadcasts.send(result.transaction)
      case 'resubmit':
        if (!this.#batches.serves(payment.facilitator)) return this.#submit(payment)
        this.#batches.putBack(payment)
        return this.wake()
    }
  }

  /** Signs and sends a charge's settlement where it would succeed; also anew, where none of its transactions can be mined any more. */
  async #submit(payment: PaymentRow): Promise<void> {
    const [settlement, fees] = await Promise.all([prepare(this.#chain, payment), this.#chain.fees()])
    if (settlement === null) return this.resolve(payment)
    const transaction = await this.#signing.sign(this.#chain, [settlement], fees)
    // `null`: another process was faster.
    if (transaction !== null) await this.#send(transaction, [payment])
  }

  /** Broadcasts what was signed and stored. Its payments are submitted from then on. */
  async #send(transaction: SignedTransactionRow, payments: readonly PaymentRow[]): Promise<void> {
    this.#inFlight.add(payments, transaction)
    this.#metrics.transitions.inc({ state: 'submitted' }, payments.length)
    await this.#broadcasts.send(transaction)
  }

  async #attempt(doing: string, ids: { paymentId?: string }, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      const level = error instanceof NodeFault || error instanceof NodeRefusal ? 'warn' : 'error'
      const { network } = this.#chain
      this.#logger[level]({ ...ids, network, reason: errorText(error) }, `${doing} failed; it will be repeated`)
    }
  }
}

function countOf(capacities: readonly SignerCapacity[], signer: Address): number {
  return capacities.filter((one) => one.signer === signer).reduce((total, { count }) => total + count, 0)
}

/** The trace of the request that charged it, where this process served that. */
function traceOf({ id, network }: PaymentRow): TraceDetails {
  return { follows: id, attributes: { 'payment.id': id, network } }
}

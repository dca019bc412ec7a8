import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { isFinal, type Network } from '@upfront/protocol'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { NodeFault, NodeRefusal } from '../chain/node-error.js'
import { Environment } from '../environment/environment.js'
import { findPaymentById } from '../ledger/find-payment.js'
import { Ledger } from '../ledger/ledger.js'
import type { PaymentRow, SignedTransactionRow } from '../ledger/schema.js'
import { BillingMetrics } from '../metrics.js'
import { broadcast } from './broadcast.js'
import { DeadlineQueue } from './deadline-queue.js'
import { endWithin } from './end-within.js'
import { HeadPoll } from './head-poll.js'
import { type Signed, SigningQueue } from './signing-queue.js'
import { submit } from './submit.js'
import { type DriveMemory, resolveDoubt, type TrackResult, track, trackReceipt } from './track.js'

/** Payments of one chain that one process drives at a time; the rest wait, the one that expires first in front. */
const CONCURRENCY = 24
/** Watched payments are looked at this often even where no new block comes. */
const ROUND_MILLISECONDS = 1_000
/** A far node answers later than this; its requests still leave in order. */
const SEND_STAGGER_MILLISECONDS = 10
/** Another process may have brought a payment on. */
const WAIT_POLL_MILLISECONDS = 1_000

type Driven = DriveMemory & {
  id: string
  network: PaymentRow['network']
  deadline: bigint
  running: boolean
  again: boolean
  /** Whether to read the ledger at the next look; else the receipt of what is in flight will do. */
  thorough: boolean
  /** As just written: it need not be read again. */
  fresh: PaymentRow | null
  /** Signed here, as it was then. */
  inFlight: Signed | null
}

/** Drives every charged payment that it is given to its end, whatever the node does. */
@Injectable()
export class Settler implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #driven = new Map<string, Driven>()
  /** Each chain's own: one whose node hangs keeps no other waiting. */
  readonly #lanes = new Map<Network, { queue: DeadlineQueue<Driven>; running: number }>()
  readonly #progress = new EventEmitter().setMaxListeners(0)
  readonly #loops: Promise<void>[] = []
  /** By network and signer: when the next transaction may be sent. */
  readonly #turns = new Map<string, Promise<void>>()
  readonly #headPolls = new Map<Network, HeadPoll>()
  readonly #stop = new AbortController()

  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly signing: SigningQueue,
    private readonly metrics: BillingMetrics,
    private readonly environment: Environment,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    for (const chain of this.chains.all()) {
      chain.head.onChange(() => this.look(chain, false))
      const isBusy = () => [...this.#driven.values()].some(({ network }) => network === chain.network)
      const read = () => this.attempt('reading the head', {}, async () => void (await chain.head.refresh()))
      const poll = new HeadPoll(isBusy, read)
      this.#headPolls.set(chain.network, poll)
      this.#loops.push(poll.run())
    }
    this.#loops.push(this.rounds())
  }

  /** Lets what is under way end; what is not is found again at the next start. */
  async onApplicationShutdown(): Promise<void> {
    this.#stop.abort()
    for (const poll of this.#headPolls.values()) poll.stop()
    for (const { queue } of this.#lanes.values()) queue.clear()
    await endWithin(Promise.all(this.#loops))
    await endWithin(this.idle())
  }

  private async idle(): Promise<void> {
    while ([...this.#lanes.values()].some(({ running }) => running > 0)) await sleep(20)
  }

  /** Ids of the payments that this process drives. */
  driven(): string[] {
    return [...this.#driven.keys()]
  }

  /**
   * Begins, or goes on, to drive a payment that is charging or submitted. `fresh`: the row is as this process has just written
   * it, and need not be read again.
   */
  begin(payment: PaymentRow, fresh = false): void {
    const { id, network, deadline, state } = payment
    if (isFinal(state) || state === 'authorized' || this.#stop.signal.aborted) return
    let driven = this.#driven.get(id)
    if (driven === undefined) {
      driven = {
        broadcastAt: new Map(),
        doubtfulFrom: null,
        id,
        network,
        deadline,
        running: false,
        again: false,
        thorough: true,
        fresh: fresh ? payment : null,
        inFlight: null,
      }
      this.#driven.set(id, driven)
    }
    this.enqueue(driven, true)
  }

  /** Resolves with the payment as soon as it is mined or final, at the latest after `milliseconds`. */
  async waitUntilMined(payment: PaymentRow, milliseconds: number): Promise<PaymentRow> {
    const until = Date.now() + milliseconds
    let current = payment
    while (!isFinal(current.state) && current.blockNumber === null && Date.now() < until) {
      const told = await this.nextProgress(payment.id, Math.min(WAIT_POLL_MILLISECONDS, until - Date.now()))
      current = told ?? (await findPaymentById(this.ledger.db, payment.id)) ?? current
    }
    return current
  }

  /** What this process did to the payment next; `null` where it did nothing in time. */
  private nextProgress(paymentId: string, milliseconds: number): Promise<PaymentRow | null> {
    return new Promise((resolve) => {
      const done = (payment: PaymentRow | null) => {
        clearTimeout(timer)
        this.#progress.off(paymentId, done)
        resolve(payment)
      }
      const timer = setTimeout(done, milliseconds, null)
      this.#progress.once(paymentId, done)
    })
  }

  private async rounds(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.pause(ROUND_MILLISECONDS)
      for (const chain of this.chains.all()) this.look(chain, true)
    }
  }

  private async pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#stop.signal }).catch(() => undefined)
  }

  private look(chain: Chain, thorough: boolean): void {
    for (const driven of this.#driven.values()) if (driven.network === chain.network) this.enqueue(driven, thorough)
  }

  private enqueue(driven: Driven, thorough: boolean): void {
    driven.thorough ||= thorough
    if (driven.running) {
      driven.again = true
      return
    }
    this.laneOf(driven.network).queue.add(driven)
    this.pump(driven.network)
  }

  private laneOf(network: Network) {
    let lane = this.#lanes.get(network)
    if (lane === undefined) {
      lane = { queue: new DeadlineQueue<Driven>(), running: 0 }
      this.#lanes.set(network, lane)
    }
    return lane
  }

  private pump(network: Network): void {
    const lane = this.laneOf(network)
    while (lane.running < CONCURRENCY && lane.queue.size > 0) void this.run(lane.queue.take() as Driven)
  }

  private async run(driven: Driven): Promise<void> {
    const lane = this.laneOf(driven.network)
    lane.running += 1
    driven.running = true
    driven.again = false
    await this.attempt('driving a payment', { paymentId: driven.id }, () => this.drive(driven))
    driven.running = false
    lane.running -= 1
    if (driven.again && this.#driven.has(driven.id) && !this.#stop.signal.aborted) this.enqueue(driven, false)
    this.pump(driven.network)
  }

  /** One look at a payment, and whatever follows from it at once. */
  private async drive(driven: Driven): Promise<void> {
    const { thorough, inFlight, fresh } = driven
    driven.thorough = false
    driven.fresh = null
    if (!thorough && inFlight !== null) return this.glance(driven, inFlight)
    const payment = fresh ?? (await findPaymentById(this.ledger.db, driven.id))
    if (payment === null || isFinal(payment.state)) return this.end(driven, payment)
    const chain = this.chains.of(payment.network)
    const result =
      payment.state === 'charging' ? { outcome: 'resubmit' as const } : await this.track(chain, payment, driven)
    await this.follow(chain, payment, driven, result)
  }

  /** After a new block: has what was sent been mined? */
  private async glance(driven: Driven, { payment, transaction }: Signed): Promise<void> {
    const chain = this.chains.of(payment.network)
    const result = await trackReceipt(this.ledger.db, chain, payment, transaction)
    if (result === null) return
    this.#headPolls.get(payment.network)?.mined(Date.now() - (driven.broadcastAt.get(transaction.hash) ?? Date.now()))
    driven.inFlight = null
    await this.follow(chain, payment, driven, result)
  }

  private track(chain: Chain, payment: PaymentRow, driven: Driven): Promise<TrackResult> {
    return track(this.ledger.db, chain, payment, driven, this.environment.FEE_BUMP_MS)
  }

  private async follow(chain: Chain, payment: PaymentRow, driven: Driven, result: TrackResult): Promise<void> {
    switch (result.outcome) {
      case 'waiting':
        if (result.payment.blockNumber !== null) this.#progress.emit(driven.id, result.payment)
        return
      case 'moved on':
        return
      case 'final':
        return this.end(driven, result.payment)
      case 'broadcast':
        if (result.bumped) this.metrics.feeBumps.inc({ network: chain.network })
        if (result.bumped) driven.inFlight = null
        driven.broadcastAt.set(result.transaction.hash, Date.now())
        return this.broadcast(chain, result.transaction)
      case 'resubmit':
        return this.submit(chain, payment, driven)
    }
  }

  private async submit(chain: Chain, payment: PaymentRow, driven: Driven): Promise<void> {
    if (!chain.signers.has(payment.facilitator)) {
      if (payment.deadline >= chain.head.now()) return
      return this.follow(chain, payment, driven, await resolveDoubt(this.ledger.db, chain, payment, driven))
    }
    const submitted = await submit(this.signing, chain, payment)
    switch (submitted.outcome) {
      case 'moved on':
        return
      case 'doubtful':
        return this.follow(chain, payment, driven, await resolveDoubt(this.ledger.db, chain, payment, driven))
      case 'signed': {
        driven.doubtfulFrom = null
        this.metrics.transitions.inc({ state: 'submitted' })
        driven.broadcastAt.set(submitted.transaction.hash, Date.now())
        driven.inFlight = submitted
        return this.broadcast(chain, submitted.transaction)
      }
    }
  }

  /**
   * Sends a signer's transactions in the order of their nonces: each begins when the one before was answered, or soon after it
   * began. A node that gets them out of order may hold the later ones back.
   */
  private async broadcast(chain: Chain, transaction: SignedTransactionRow): Promise<void> {
    const signer = `${chain.network}/${transaction.signer}`
    const turn = this.#turns.get(signer) ?? Promise.resolve()
    const sent = turn.then(() => broadcast(chain, transaction, this.logger))
    const passed = sent.catch(() => undefined)
    this.#turns.set(signer, Promise.race([passed, turn.then(() => sleep(SEND_STAGGER_MILLISECONDS))]))
    await sent
    this.#headPolls.get(chain.network)?.sent()
  }

  private end(driven: Driven, payment: PaymentRow | null): void {
    this.#driven.delete(driven.id)
    this.#progress.emit(driven.id, payment)
    if (payment === null) return
    const { id: paymentId, network, state, transaction, reason, chargedAt, finishedAt, takenBackAt } = payment
    this.metrics.transitions.inc({ state })
    this.metrics.gasUsed.inc({ network }, Number(payment.gasUsed ?? 0))
    this.metrics.feesPaid.inc({ network }, Number(payment.feePaid ?? 0))
    if (state === 'settled' && chargedAt !== null && finishedAt !== null) {
      this.metrics.settlementSeconds.observe((finishedAt.getTime() - chargedAt.getTime()) / 1_000)
    }
    if (state === 'failed') this.metrics.failedCharges.inc({ network, reason: reason ?? 'unknown' })
    if (state === 'failed' && takenBackAt !== null) {
      this.metrics.takenBack.inc({ network })
      this.logger.error({ paymentId, network, reason }, 'a settlement was taken back by a reorganisation, for good')
    }
    const level = state === 'failed' ? 'warn' : 'info'
    this.logger[level](
      { paymentId, network, state, transaction, reason: state === 'failed' ? reason : undefined },
      'payment ended',
    )
  }

  /** Nothing that fails here is lost: the payment stays driven, and is looked at again in the next round. */
  private async attempt(doing: string, ids: { paymentId?: string }, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      const expected = error instanceof NodeFault || error instanceof NodeRefusal
      this.logger[expected ? 'warn' : 'error'](
        { ...ids, reason: errorText(error) },
        `${doing} failed; it will be repeated`,
      )
    }
  }
}

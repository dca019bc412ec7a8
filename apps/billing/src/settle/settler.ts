import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isFinal, RefusalReason } from '@upfront/protocol'
import type { Chain } from '../chain/chain.js'
import type { Chains } from '../chain/chains.js'
import { NodeFault, NodeRefusal } from '../chain/node.js'
import type { Metrics } from '../health/metrics.js'
import type { Database } from '../ledger/database.js'
import type { PaymentRow } from '../ledger/schema.js'
import { errorText, type Log } from '../log.js'
import { findPaymentById } from '../payments/lookup.js'
import { broadcast } from './broadcast.js'
import { concludeFailed } from './conclude.js'
import { submit } from './submit.js'
import { MAXIMUM_REVERTS, spentElsewhere, type TrackResult, track, trackFirst, type Watch } from './track.js'

/** Payments that one process drives at a time; the rest wait, the one that expires first in front. */
const CONCURRENCY = 24
const HEAD_POLL_MILLISECONDS = 200
const IDLE_POLL_MILLISECONDS = 2_000
/** Watched payments are looked at this often even where no new block comes. */
const ROUND_MILLISECONDS = 1_000
/** Another process may have brought a payment on. */
const WAIT_POLL_MILLISECONDS = 1_000

type Driven = Watch & { id: string; network: PaymentRow['network']; deadline: bigint; running: boolean; again: boolean }

/** Drives every charged payment that it is given to its end, whatever the node does. */
export class Settler {
  readonly #driven = new Map<string, Driven>()
  readonly #queue: Driven[] = []
  readonly #progress = new EventEmitter().setMaxListeners(0)
  readonly #loops: Promise<void>[] = []
  readonly #stop = new AbortController()
  #running = 0

  constructor(
    private readonly db: Database,
    private readonly chains: Chains,
    private readonly metrics: Metrics,
    private readonly log: Log,
    private readonly feeBumpMilliseconds: number,
  ) {}

  start(): void {
    for (const chain of this.chains.all()) {
      chain.head.onChange(() => this.look(chain))
      this.#loops.push(this.pollHead(chain))
    }
    this.#loops.push(this.rounds())
  }

  /** Lets what is under way end; what is not is found again at the next start. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.#queue.length = 0
    await Promise.all(this.#loops)
    while (this.#running > 0) await sleep(20)
  }

  drives(paymentId: string): boolean {
    return this.#driven.has(paymentId)
  }

  /** Begins, or goes on, to drive a payment that is charging or submitted. */
  begin({ id, network, deadline, state }: Pick<PaymentRow, 'id' | 'network' | 'deadline' | 'state'>): void {
    if (isFinal(state) || state === 'authorized' || this.#stop.signal.aborted) return
    let driven = this.#driven.get(id)
    if (driven === undefined) {
      const watch: Watch = { broadcastAt: new Map(), displacedSince: null, reverts: 0 }
      driven = { ...watch, id, network, deadline, running: false, again: false }
      this.#driven.set(id, driven)
    }
    this.enqueue(driven)
  }

  /** Resolves with the payment as soon as it is mined or final, at the latest after `milliseconds`. */
  async waitUntilMined(payment: PaymentRow, milliseconds: number): Promise<PaymentRow> {
    const until = Date.now() + milliseconds
    let current = payment
    while (!isFinal(current.state) && current.blockNumber === null && Date.now() < until) {
      const told = await this.nextProgress(payment.id, Math.min(WAIT_POLL_MILLISECONDS, until - Date.now()))
      current = told ?? (await findPaymentById(this.db, payment.id)) ?? current
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

  private async pollHead(chain: Chain): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const busy = [...this.#driven.values()].some(({ network }) => network === chain.network)
      await this.attempt('reading the head', {}, async () => void (await chain.head.refresh()))
      await this.pause(busy ? HEAD_POLL_MILLISECONDS : IDLE_POLL_MILLISECONDS)
    }
  }

  private async rounds(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.pause(ROUND_MILLISECONDS)
      for (const chain of this.chains.all()) this.look(chain)
    }
  }

  private async pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#stop.signal }).catch(() => undefined)
  }

  private look(chain: Chain): void {
    for (const driven of this.#driven.values()) if (driven.network === chain.network) this.enqueue(driven)
  }

  private enqueue(driven: Driven): void {
    if (driven.running) {
      driven.again = true
      return
    }
    if (this.#queue.includes(driven)) return
    const behind = this.#queue.findIndex(({ deadline }) => deadline > driven.deadline)
    this.#queue.splice(behind === -1 ? this.#queue.length : behind, 0, driven)
    this.pump()
  }

  private pump(): void {
    while (this.#running < CONCURRENCY && this.#queue.length > 0) void this.run(this.#queue.shift() as Driven)
  }

  private async run(driven: Driven): Promise<void> {
    this.#running += 1
    driven.running = true
    driven.again = false
    await this.attempt('driving a payment', { paymentId: driven.id }, () => this.drive(driven))
    driven.running = false
    this.#running -= 1
    if (driven.again && this.#driven.has(driven.id) && !this.#stop.signal.aborted) this.enqueue(driven)
    this.pump()
  }

  /** One look at a payment, and whatever follows from it at once. */
  private async drive(driven: Driven): Promise<void> {
    const payment = await findPaymentById(this.db, driven.id)
    if (payment === null || isFinal(payment.state)) return this.end(driven, payment)
    const chain = this.chains.of(payment.network)
    const result =
      payment.state === 'charging' ? { outcome: 'resubmit' as const } : await this.track(chain, payment, driven)
    await this.follow(chain, payment, driven, result)
  }

  private track(chain: Chain, payment: PaymentRow, driven: Driven): Promise<TrackResult> {
    return track(this.db, chain, payment, driven, this.feeBumpMilliseconds)
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
        driven.broadcastAt.set(result.transaction.hash, Date.now())
        return broadcast(chain, result.transaction, this.log)
      case 'resubmit':
        return this.submit(chain, payment, driven)
    }
  }

  private async submit(chain: Chain, payment: PaymentRow, driven: Driven): Promise<void> {
    if (!chain.signers.has(payment.facilitator)) return
    const submitted = await submit(this.db, chain, payment)
    switch (submitted.outcome) {
      case 'moved on':
        return
      case 'impossible':
        return this.fail(driven, payment, submitted.reason)
      case 'nonce used':
        return this.follow(chain, payment, driven, await spentElsewhere(this.db, chain, payment, null, driven))
      case 'reverts':
        driven.reverts += 1
        if (driven.reverts >= MAXIMUM_REVERTS) return this.fail(driven, payment, RefusalReason.simulationFailed)
        return
      case 'signed': {
        this.metrics.transitions.inc({ state: 'submitted' })
        driven.broadcastAt.set(submitted.transaction.hash, Date.now())
        await broadcast(chain, submitted.transaction, this.log)
        const result = await trackFirst(this.db, chain, submitted.payment, submitted.transaction, driven)
        await this.follow(chain, submitted.payment, driven, result)
      }
    }
  }

  private async fail(driven: Driven, payment: PaymentRow, reason: string): Promise<void> {
    const failed = await concludeFailed(this.db, payment, reason, null)
    if (failed !== null) this.end(driven, failed)
  }

  private end(driven: Driven, payment: PaymentRow | null): void {
    this.#driven.delete(driven.id)
    this.#progress.emit(driven.id, payment)
    if (payment === null) return
    const { id: paymentId, network, state, transaction, reason, chargedAt, finishedAt } = payment
    this.metrics.transitions.inc({ state })
    if (state === 'settled' && chargedAt !== null && finishedAt !== null) {
      this.metrics.settlementSeconds.observe((finishedAt.getTime() - chargedAt.getTime()) / 1_000)
    }
    const level = state === 'failed' ? 'warn' : 'info'
    this.log[level](
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
      this.log[expected ? 'warn' : 'error'](
        { ...ids, problem: errorText(error) },
        `${doing} failed; it will be repeated`,
      )
    }
  }
}

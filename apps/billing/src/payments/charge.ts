import { Injectable } from '@nestjs/common'
import { traced } from '@upfront/node'
import { type ChargeRequest, type ChargeResult, RefusalReason, type ReleaseRequest } from '@upfront/protocol'
import { and, eq, gte, or, sql } from 'drizzle-orm'
import { Chains } from '../chain/chains.js'
import { Environment } from '../environment/environment.js'
import { changePayment, type PaymentChange, toPayment } from '../ledger/change-payment.js'
import { PAYMENT_ID } from '../ledger/find-payment.js'
import { Ledger, type Transaction } from '../ledger/ledger.js'
import { isKeyTaken } from '../ledger/reserve.js'
import { idempotencyKeys, type PaymentRow, payments } from '../ledger/schema.js'
import { BillingMetrics } from '../metrics.js'
import { Settler } from '../settle/settler.js'
import { BillingError } from './billing-error.js'
import { findFirstResult, hashInput, type KeyedCall, keepRefusal, takeKey } from './idempotency.js'

type Refused = { reason: string; message: string }
type Outcome = { payment: PaymentRow; refusal: Refused | null }

/** Charge and release: what a seller does with a payment that it has authorized. */
@Injectable()
export class Charges {
  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly settler: Settler,
    private readonly metrics: BillingMetrics,
    private readonly environment: Environment,
  ) {}

  /** Stores the charge, then waits for its settlement within bounds. Throws `BillingError`. */
  charge(paymentId: string, request: ChargeRequest, key: string): Promise<ChargeResult> {
    const details = { begins: paymentId, attributes: { 'payment.id': paymentId } }
    return traced('charge', () => this.chargeAndWait(paymentId, request, key), details)
  }

  private async chargeAndWait(paymentId: string, request: ChargeRequest, key: string): Promise<ChargeResult> {
    refuseStrangeId(paymentId)
    const { waitMilliseconds = this.environment.RECEIPT_WAIT_MS, ...input } = request
    const call: KeyedCall = { key, operation: 'charge', inputHash: hashInput({ paymentId, ...input }) }
    const charged = await this.chargeAtOnce(paymentId, call, request)
    const { payment, refusal } =
      charged === null
        ? await this.once(paymentId, call, (tx, found) => this.apply(tx, found, request))
        : { payment: charged, refusal: null }
    if (refusal !== null) return { outcome: 'refused', ...refusal, payment: toPayment(payment) }
    this.settler.wake(payment.network)
    return { outcome: 'done', payment: toPayment(await this.settler.waitUntilKnown(payment, waitMilliseconds)) }
  }

  /** Throws `BillingError`. */
  async release(paymentId: string, { reason }: ReleaseRequest, key: string): Promise<ChargeResult> {
    refuseStrangeId(paymentId)
    const call: KeyedCall = { key, operation: 'release', inputHash: hashInput({ paymentId, reason }) }
    const { payment, refusal } = await this.once(paymentId, call, async (tx, found) => {
      if (found.state !== 'authorized') return { payment: found, refusal: notAuthorized(found) }
      return { payment: await this.change(tx, found, { kind: 'released', to: 'released', reason }), refusal: null }
    })
    return refusal === null
      ? { outcome: 'done', payment: toPayment(payment) }
      : { outcome: 'refused', ...refusal, payment: toPayment(payment) }
  }

  /** Writes the charge of an authorized payment that is locked by `tx`. */
  async apply(tx: Transaction, found: PaymentRow, request: Pick<ChargeRequest, 'amount' | 'reason'>): Promise<Outcome> {
    const { amount, reason } = request
    if (found.state !== 'authorized') return { payment: found, refusal: notAuthorized(found) }
    if (amount > found.maximum) {
      const message = `the charge ${amount} is above the authorized maximum ${found.maximum}`
      return { payment: found, refusal: { reason: RefusalReason.exceedsMaximum, message } }
    }
    if (found.deadline < this.chains.of(found.network).head.now()) {
      return { payment: found, refusal: { reason: RefusalReason.deadlineExpired, message: 'the deadline has passed' } }
    }
    return { payment: await this.change(tx, found, charged(amount, reason)), refusal: null }
  }

  /** The usual charge in one statement, its key included. `null`: nothing was written, and {@link once} says why. */
  private async chargeAtOnce(
    id: string,
    { key, operation, inputHash }: KeyedCall,
    { amount, reason }: ChargeRequest,
  ): Promise<PaymentRow | null> {
    const inTime = this.chains
      .all()
      .map(({ network, head }) => and(eq(payments.network, network), gte(payments.deadline, head.now())))
    const along = sql`insert into ${idempotencyKeys} (key, operation, input_hash, payment_id, created_at)
      select ${key}::text, ${operation}::text, ${inputHash}::text, id, updated_at from changed`
    try {
      const authorized = { id, state: 'authorized', transaction: null } as const
      const where = and(gte(payments.maximum, amount), or(...inTime))
      const payment = await changePayment(this.ledger.db, authorized, {
        ...charged(amount, reason),
        where,
        along: [along],
      })
      if (payment !== null) this.metrics.transitions.inc({ state: payment.state })
      return payment
    } catch (error) {
      if (isKeyTaken(error)) return null
      throw error
    }
  }

  private async once(
    paymentId: string,
    call: KeyedCall,
    act: (tx: Transaction, found: PaymentRow) => Promise<Outcome>,
  ): Promise<Outcome> {
    return this.ledger.db.transaction(async (tx) => {
      const [found] = await tx.select().from(payments).where(eq(payments.id, paymentId)).for('update')
      if (found === undefined) throw noSuchPayment()
      if (!(await takeKey(tx, call, { paymentId, refusal: null }))) {
        const first = await findFirstResult(tx, call)
        return { payment: found, refusal: first?.refusal ?? null }
      }
      const outcome = await act(tx, found)
      if (outcome.refusal !== null) await keepRefusal(tx, call, { ...outcome.refusal, payer: null })
      return outcome
    })
  }

  private async change(tx: Transaction, found: PaymentRow, change: PaymentChange): Promise<PaymentRow> {
    const changed = await changePayment(tx, found, change)
    if (changed === null) throw new Error(`payment ${found.id} changed while it was locked`)
    this.metrics.transitions.inc({ state: changed.state })
    return changed
  }
}

function refuseStrangeId(paymentId: string): void {
  if (!PAYMENT_ID.test(paymentId)) throw noSuchPayment()
}

function noSuchPayment(): BillingError {
  return new BillingError('not_found', 'there is no such payment')
}

function charged(amount: bigint, reason: string): PaymentChange {
  return {
    kind: 'charged',
    to: amount === 0n ? 'zero' : 'charging',
    reason,
    set: { charge: amount, chargedAt: new Date(), ...(amount === 0n ? {} : { nextLook: sql`now()` }) },
    data: { charge: amount.toString() },
  }
}

function notAuthorized(payment: PaymentRow): Refused {
  return { reason: RefusalReason.notAuthorized, message: `the payment is ${payment.state} already` }
}

import { Injectable } from '@nestjs/common'
import { traced } from '@upfront/node'
import { type ChargeRequest, type ChargeResult, RefusalReason, type ReleaseRequest, schemeOf } from '@upfront/protocol'
import { and, eq, gte, or, type SQL, sql } from 'drizzle-orm'
import { Chains } from '../chain/chains.js'
import { Environment } from '../environment/environment.js'
import { changePayment, type PaymentChange, toPayment } from '../ledger/change-payment.js'
import { findPaymentById, PAYMENT_ID } from '../ledger/find-payment.js'
import { Ledger, type Transaction } from '../ledger/ledger.js'
import { isKeyTaken } from '../ledger/reserve.js'
import { idempotencyKeys, type PaymentRow, payments } from '../ledger/schema.js'
import { BillingMetrics } from '../metrics.js'
import { Settler } from '../settle/settler.js'
import { type Refusal } from '../verify/payment-request.js'
import { noSuchPayment } from './billing-error.js'
import { findFirstResult, hashInput, type KeyedCall, keepResult } from './idempotency.js'
import { findExcess } from './refusal.js'

type ChargeTerms = Pick<ChargeRequest, 'amount' | 'reason'>
type Outcome = { payment: PaymentRow; refusal: Refusal | null }

/** Charges and releases authorized payments. */
@Injectable()
export class Charges {
  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly settler: Settler,
    private readonly metrics: BillingMetrics,
    private readonly environment: Environment,
  ) {}

  /** Stores the charge, then waits for its settlement up to a limit. Throws `BillingError`. */
  charge(paymentId: string, request: ChargeRequest, key: string): Promise<ChargeResult> {
    const details = { begins: paymentId, attributes: { 'payment.id': paymentId } }
    return traced('charge', () => this.chargeAndWait(paymentId, request, key), details)
  }

  private async chargeAndWait(paymentId: string, request: ChargeRequest, key: string): Promise<ChargeResult> {
    requirePaymentId(paymentId)
    const { waitMilliseconds = this.environment.LIMITS.receiptWaitMs, ...input } = request
    const call: KeyedCall = { key, operation: 'charge', inputHash: hashInput({ paymentId, ...input }) }
    const { payment, refusal } = await this.changeOnce(
      paymentId,
      call,
      (change) =>
        this.settler.storeCharge(
          paymentId,
          (nextLook) => change({ ...chargeOf(request, nextLook), where: this.chargeableCondition(request) }),
          (charged) => charged,
        ),
      (found) => this.chargeRefusal(found, request.amount),
    )
    if (refusal !== null) return { outcome: 'refused', ...refusal, payment: toPayment(payment) }
    return { outcome: 'done', payment: toPayment(await this.settler.waitUntilKnown(payment, waitMilliseconds)) }
  }

  /** Throws `BillingError`. */
  async release(paymentId: string, { reason }: ReleaseRequest, key: string): Promise<ChargeResult> {
    requirePaymentId(paymentId)
    const call: KeyedCall = { key, operation: 'release', inputHash: hashInput({ paymentId, reason }) }
    const released: PaymentChange = { kind: 'released', to: 'released', reason }
    const { payment, refusal } = await this.changeOnce(paymentId, call, (change) => change(released), notAuthorized)
    return refusal === null
      ? { outcome: 'done', payment: toPayment(payment) }
      : { outcome: 'refused', ...refusal, payment: toPayment(payment) }
  }

  /** Writes the charge that `POST /settle` asks for, of a payment reserved in `tx`, with its next look. */
  async apply(tx: Transaction, reserved: PaymentRow, request: ChargeTerms, nextLook: SQL<Date>): Promise<PaymentRow> {
    const { set, ...change } = chargeOf(request, nextLook)
    const pending = { ...set, settleAnswer: 'pending' } as const
    const charged = await changePayment(tx, reserved, {
      ...change,
      set: pending,
      where: this.chargeableCondition(request),
    })
    if (charged === null) throw new Error(`payment ${reserved.id} changed while it was reserved`)
    return charged
  }

  /**
   * Changes an authorized payment by `act` and takes the call's key in one statement. If nothing changed, returns the key's first result;
   * if there is none, the refusal becomes it.
   */
  private async changeOnce(
    id: string,
    call: KeyedCall,
    act: (change: (change: PaymentChange) => Promise<PaymentRow | null>) => Promise<PaymentRow | null>,
    whyNot: (found: PaymentRow) => Refusal,
  ): Promise<Outcome> {
    const { key, operation, inputHash } = call
    const along = sql`insert into ${idempotencyKeys} (key, operation, input_hash, payment_id, created_at)
      select ${key}::text, ${operation}::text, ${inputHash}::text, id, updated_at from changed`
    const { db } = this.ledger
    try {
      const authorized = { id, state: 'authorized', transaction: null } as const
      const payment = await act((change) => changePayment(db, authorized, { ...change, along: [along] }))
      if (payment !== null) {
        this.metrics.transitions.inc({ state: payment.state })
        return { payment, refusal: null }
      }
    } catch (error) {
      if (!isKeyTaken(error)) throw error
    }
    const first = await findFirstResult(db, call)
    const found = await findPaymentById(db, id)
    if (found === null) throw noSuchPayment()
    if (first !== null) return { payment: found, refusal: first.refusal }
    const kept = await keepResult(db, call, { paymentId: id, refusal: { ...whyNot(found), payer: null } })
    return { payment: found, refusal: kept.refusal }
  }

  /** Conditions on the payment's row for a charge. */
  private chargeableCondition({ amount }: ChargeTerms): SQL | undefined {
    const inTime = this.chains
      .all()
      .map(({ network, head }) => and(eq(payments.network, network), gte(payments.deadline, head.now())))
    // An `exact` payment moves in full.
    const isWhole = or(eq(payments.maximum, amount), eq(payments.kind, 'upto-permit2'))
    return and(gte(payments.maximum, amount), amount === 0n ? undefined : isWhole, or(...inTime))
  }

  private chargeRefusal(found: PaymentRow, amount: bigint): Refusal {
    if (found.state !== 'authorized') return notAuthorized(found)
    const excess = amount === 0n ? null : findExcess(schemeOf(found.kind), found.maximum, amount)
    if (excess !== null) return excess
    // Throws if the network is no longer configured.
    this.chains.of(found.network)
    return { reason: RefusalReason.deadlineExpired, message: 'the deadline has passed' }
  }
}

function requirePaymentId(paymentId: string): void {
  if (!PAYMENT_ID.test(paymentId)) throw noSuchPayment()
}

function chargeOf({ amount, reason }: ChargeTerms, nextLook: SQL<Date>): PaymentChange {
  return {
    kind: 'charged',
    to: amount === 0n ? 'zero' : 'charging',
    reason,
    set: { charge: amount, chargedAt: new Date(), ...(amount === 0n ? {} : { nextLook }) },
    data: { charge: amount.toString() },
  }
}

function notAuthorized(payment: PaymentRow): Refusal {
  return { reason: RefusalReason.notAuthorized, message: `the payment is ${payment.state} already` }
}

import { Injectable } from '@nestjs/common'
import { type Network, RefusalReason, standingOf } from '@upfront/protocol'
import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { and, eq, type SQL } from 'drizzle-orm'
import { Chains } from '../chain/chains.js'
import { PLAIN_SETTLEMENT_GAS } from '../chain/settlement-gas.js'
import type { Listing } from '../discovery/catalogue.js'
import { Environment } from '../environment/environment.js'
import { findPayment } from '../ledger/find-payment.js'
import type { GasPrice } from '../ledger/gas-sums.js'
import { Ledger, type Transaction } from '../ledger/ledger.js'
import { type PaymentRow, payments, type SellerAccount } from '../ledger/schema.js'
import { isSellerGasSpent, lockSeller } from '../sellers/seller-gas.js'
import { Settler } from '../settle/settler.js'
import {
  decodePaymentRequest,
  type PaymentRequest,
  type Refused,
  refused,
  withMaximum,
} from '../verify/payment-request.js'
import { Authorizations, type Extend, newPaymentId } from './authorize.js'
import { Charges } from './charge.js'
import { toSchemeReason } from './exact-reasons.js'
import { findExcess, SELLER_GAS_SPENT, USED_BEFORE } from './refusal.js'

/** A seller with a gas budget. */
interface Budget {
  seller: SellerAccount
  price: GasPrice
}

/** Thrown to roll back the reservation. */
class SellerGasSpent extends Error {}

/** x402's facilitator for any seller: `POST /verify` and `POST /settle`, with the ledger's guarantees. */
@Injectable()
export class Facilitator {
  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly authorizations: Authorizations,
    private readonly charges: Charges,
    private readonly settler: Settler,
    private readonly environment: Environment,
  ) {}

  /**
   * Verifies without changing anything; the amount is the maximum. A used authorization is invalid, and so is one that is not covered in
   * addition to open reservations. Throws `NodeFault`.
   */
  async verify(
    paymentPayload: unknown,
    paymentRequirements: unknown,
    seller: SellerAccount | null,
  ): Promise<VerifyResponse> {
    const request = decodePaymentRequest(paymentPayload, paymentRequirements)
    const result = 'outcome' in request ? request : await this.examine(request, seller)
    if (result.outcome === 'valid') return { isValid: true, payer: result.payer }
    const { reason, message, payer } = result
    const invalidReason = toSchemeReason(reason, paymentPayload, paymentRequirements)
    return { isValid: false, invalidReason, invalidMessage: message, ...(payer ? { payer } : {}) }
  }

  private async examine(request: PaymentRequest, seller: SellerAccount | null) {
    const unserved = findUnserved(request, seller) ?? (await this.findOverspent(request, seller))
    return unserved ?? this.authorizations.check(request)
  }

  /**
   * Reserves and charges in one step, then waits for the receipt. An authorization is granted once, when its payment is settled; a call after
   * that, or of another amount, is refused as used. `listing`: whether the resource was listed;
   * `null` unless this call reserved the payment and the payment describes a resource. Throws `NodeFault`.
   */
  async settle(
    paymentPayload: unknown,
    paymentRequirements: unknown,
    seller: SellerAccount | null,
  ): Promise<{ answer: SettleResponse; listing: Listing | null }> {
    const { answer, listing = null } = await this.settleOnce(paymentPayload, paymentRequirements, seller)
    const { errorReason: reason } = answer
    if (reason === undefined) return { answer, listing }
    return { answer: { ...answer, errorReason: toSchemeReason(reason, paymentPayload, paymentRequirements) }, listing }
  }

  private async settleOnce(
    paymentPayload: unknown,
    paymentRequirements: unknown,
    seller: SellerAccount | null,
  ): Promise<{ answer: SettleResponse; listing?: Listing | null }> {
    const request = decodePaymentRequest(paymentPayload, paymentRequirements)
    if ('outcome' in request) return { answer: failure(request, networkOf(paymentRequirements)) }
    const { scheme, network, amount } = request.requirements
    const { payer, nonce, maximum } = request.authorization
    const excess = findExcess(scheme, maximum, amount)
    if (excess !== null) return { answer: failure(refused(excess, null), network) }
    const known = await findPayment(this.ledger.db, network, payer, nonce)
    if (known !== null) return { answer: await this.repeat(known, request, seller) }
    const verified = findUnserved(request, seller) ?? (await this.authorizations.verify(withMaximum(request)))
    if ('outcome' in verified) return { answer: failure(verified, network) }
    const budget =
      seller === null || seller.dailyGas === null ? null : { seller, price: await verified.chain.gasPrice() }
    const id = newPaymentId()
    const sale = { seller: seller?.id ?? null, route: null }
    try {
      const reservation = await this.settler.storeCharge(
        id,
        (nextLook) => {
          const extend: Extend = (tx, payment) => this.chargeWithin(tx, payment, { amount, nextLook, budget })
          return this.authorizations.reserve(verified, sale, { id, extend })
        },
        (stored) => (stored.outcome === 'reserved' ? stored.payment : null),
      )
      if (reservation.outcome === 'refused') return { answer: failure(reservation, network) }
      return { answer: await this.finish(reservation.payment), listing: await reservation.listing }
    } catch (error) {
      if (error instanceof SellerGasSpent) return { answer: failure(refused(SELLER_GAS_SPENT, payer), network) }
      throw error
    }
  }

  /** Charges a payment reserved in `tx` within the seller's gas budget, one at a time per seller. Throws {@link SellerGasSpent}. */
  private async chargeWithin(
    tx: Transaction,
    payment: PaymentRow,
    { amount, nextLook, budget }: { amount: bigint; nextLook: SQL<Date>; budget: Budget | null },
  ): Promise<PaymentRow> {
    if (budget !== null) await lockSeller(tx, budget.seller.id)
    const charged = await this.charges.apply(tx, payment, { amount, reason: 'settle' }, nextLook)
    const isSpent = budget !== null && (await isSellerGasSpent(tx, budget.seller, payment.network, budget.price))
    if (isSpent) throw new SellerGasSpent()
    return charged
  }

  private async findOverspent(
    { requirements: { network }, authorization: { payer } }: PaymentRequest,
    seller: SellerAccount | null,
  ): Promise<Refused | null> {
    const chain = this.chains.get(network)
    if (seller === null || seller.dailyGas === null || chain === undefined) return null
    const price = await chain.gasPrice()
    const isSpent = await isSellerGasSpent(this.ledger.db, seller, network, price, PLAIN_SETTLEMENT_GAS)
    return isSpent ? refused(SELLER_GAS_SPENT, payer) : null
  }

  private async repeat(
    known: PaymentRow,
    { requirements, authorization }: PaymentRequest,
    seller: SellerAccount | null,
  ): Promise<SettleResponse> {
    const isOwn = known.seller === (seller?.id ?? null)
    const isPending =
      isOwn &&
      known.settleAnswer === 'pending' &&
      known.charge === requirements.amount &&
      known.signature === authorization.signature
    return isPending ? this.finish(known) : usedBefore(known)
  }

  private async finish(payment: PaymentRow): Promise<SettleResponse> {
    const waited = await this.settler.waitUntilKnown(payment, this.environment.LIMITS.receiptWaitMs)
    if (standingOf(waited) === 'settled' && !(await this.grant(waited))) return usedBefore(waited)
    return toSettleResponse(waited, this.settler.waitOf(waited))
  }

  /** Stored before the answer is sent. Returns `false` if the payment was granted before. */
  private async grant({ id }: PaymentRow): Promise<boolean> {
    const isPending = and(eq(payments.id, id), eq(payments.settleAnswer, 'pending'))
    const granted = await this.ledger.db
      .update(payments)
      .set({ settleAnswer: 'granted' })
      .where(isPending)
      .returning({ id: payments.id })
    return granted.length === 1
  }
}

/** Why this seller can't have the payment settled, whether or not it is valid on chain. */
function findUnserved(
  { requirements: { payTo, amount }, authorization: { payer } }: PaymentRequest,
  seller: SellerAccount | null,
): Refused | null {
  if (seller === null) return null
  const unserved = (reason: string, message: string) => refused({ reason, message }, payer)
  if (!seller.recipients.includes(payTo))
    return unserved(RefusalReason.payToNotServed, `payTo ${payTo} is not a recipient of this seller's account`)
  if (amount === 0n || amount >= seller.minimum) return null
  const message = `the amount ${amount} is below this seller's minimum of ${seller.minimum}`
  return unserved(RefusalReason.amountTooSmall, message)
}

function usedBefore({ network, payer }: PaymentRow): SettleResponse {
  return failure(refused(USED_BEFORE, payer), network)
}

function networkOf(requirements: unknown): Network {
  const network = (requirements as { network?: unknown } | null | undefined)?.network
  return typeof network === 'string' && /^eip155:[0-9]{1,16}$/.test(network) ? (network as Network) : 'eip155:0'
}

/** The state of a charged payment in x402's words. Mined counts as settled; confirmations only matter to the ledger. */
function toSettleResponse(payment: PaymentRow, wait: string | null): SettleResponse {
  const { network, payer } = payment
  const transaction = payment.transaction ?? ''
  const standing = standingOf(payment)
  if (standing === 'settled')
    return { success: true, payer, transaction, network, amount: (payment.charge ?? 0n).toString() }
  const fail = (reason: string, message: string) => failure(refused({ reason, message }, payer), network, transaction)
  if (standing === 'failed') return fail(payment.reason ?? RefusalReason.transactionFailed, 'the settlement failed')
  if (standing === 'pending')
    return fail(
      RefusalReason.settlementPending,
      `the settlement ${wait === null ? 'is in progress' : `waits for ${wait}`}`,
    )
  const message = `at the newest block, the settlement would fail (${payment.doubt})`
  return fail(RefusalReason.settlementDoubtful, message)
}

function failure({ reason, message, payer }: Refused, network: Network, transaction = ''): SettleResponse {
  const failed = { success: false, errorReason: reason, errorMessage: message, transaction, network }
  return payer === null ? failed : { ...failed, payer }
}

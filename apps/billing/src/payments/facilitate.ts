import { Injectable } from '@nestjs/common'
import { type Address, type Network, RefusalReason, standingOf } from '@upfront/protocol'
import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { and, eq, sql } from 'drizzle-orm'
import { Chains } from '../chain/chains.js'
import { PLAIN_SETTLEMENT_GAS } from '../chain/settlement-gas.js'
import type { Listing } from '../discovery/catalogue.js'
import { Environment } from '../environment/environment.js'
import { findPayment } from '../ledger/find-payment.js'
import { Ledger, type Transaction } from '../ledger/ledger.js'
import { type PaymentRow, payments, type SellerAccount } from '../ledger/schema.js'
import { type GasPrice, isSellerGasSpent, lockSeller, readGasPrice } from '../sellers/seller-gas.js'
import { Settler } from '../settle/settler.js'
import { decodePaymentRequest, type PaymentRequest, withMaximum } from '../verify/payment-request.js'
import { Authorizations } from './authorize.js'
import { Charges } from './charge.js'
import { wireReason } from './exact-reasons.js'

const SELLER_GAS_SPENT = {
  reason: RefusalReason.signerOutOfGas,
  message: "this seller's gas of 24 hours is spent, or promised to settlements that are under way",
}

type Refused = { reason: string; message: string; payer?: Address | null }

/** Undoes the reservation. */
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

  /** Changes nothing. The amount is the maximum. An authorization that was used, or is not covered beside open reservations, is invalid. Throws `NodeFault`. */
  async verify(
    paymentPayload: unknown,
    paymentRequirements: unknown,
    seller: SellerAccount | null,
  ): Promise<VerifyResponse> {
    const request = decodePaymentRequest(paymentPayload, paymentRequirements)
    const result = request.valid ? await this.examine(request, seller) : request
    if (!('reason' in result)) return { isValid: true, payer: result.payer }
    const { reason, message, payer } = result
    const invalidReason = wireReason(reason, paymentPayload, paymentRequirements)
    return { isValid: false, invalidReason, invalidMessage: message, ...(payer ? { payer } : {}) }
  }

  private async examine(request: PaymentRequest, seller: SellerAccount | null): Promise<{ payer: Address } | Refused> {
    const unserved = findUnserved(request, seller) ?? (await this.findOverspent(request, seller))
    return unserved ?? this.authorizations.check(request)
  }

  /**
   * Reserves and charges in one step, then waits for the receipt. One authorization is granted once: repeated, it is refused as used,
   * unless it was reported as pending; then it is granted once it is settled. `listing`: whether what was sold is listed, where the payment
   * was reserved by this and says what that is. Throws `NodeFault`.
   */
  async settle(
    paymentPayload: unknown,
    paymentRequirements: unknown,
    seller: SellerAccount | null,
  ): Promise<{ answer: SettleResponse; listing: Listing | null }> {
    const { answer, listing = null } = await this.settleOnce(paymentPayload, paymentRequirements, seller)
    const { errorReason: reason } = answer
    if (reason === undefined) return { answer, listing }
    return { answer: { ...answer, errorReason: wireReason(reason, paymentPayload, paymentRequirements) }, listing }
  }

  private async settleOnce(
    paymentPayload: unknown,
    paymentRequirements: unknown,
    seller: SellerAccount | null,
  ): Promise<{ answer: SettleResponse; listing?: Listing | null }> {
    const request = decodePaymentRequest(paymentPayload, paymentRequirements)
    if (!request.valid) return { answer: failure(request, '', networkOf(paymentRequirements)) }
    const { network, amount } = request.requirements
    const { payer, nonce } = request.authorization
    const excess = findExcess(request)
    if (excess !== null) return { answer: failure(excess, '', network) }
    const known = await findPayment(this.ledger.db, network, payer, nonce)
    if (known !== null) return { answer: await this.repeat(known, request, seller) }
    const unserved = findUnserved(request, seller)
    if (unserved !== null) return { answer: failure(unserved, '', network, payer) }
    const chain = this.chains.get(network)
    const price = seller === null || seller.dailyGas === null || !chain ? null : await readGasPrice(chain)
    try {
      const reservation = await this.authorizations.reserve(
        withMaximum(request),
        { seller: seller?.id ?? null, route: null },
        { extend: (tx, payment) => this.chargeWithin(tx, payment, amount, seller, price) },
      )
      if (reservation.outcome === 'refused') return { answer: failure(reservation, '', network, payer) }
      return { answer: await this.finish(reservation.payment), listing: await reservation.listing }
    } catch (error) {
      if (error instanceof SellerGasSpent) return { answer: failure(SELLER_GAS_SPENT, '', network, payer) }
      throw error
    }
  }

  /** Charges what was reserved in `tx`, one payment of the seller after another, within its gas budget. Throws {@link SellerGasSpent}. */
  private async chargeWithin(
    tx: Transaction,
    payment: PaymentRow,
    amount: bigint,
    seller: SellerAccount | null,
    price: GasPrice | null,
  ): Promise<PaymentRow> {
    if (seller !== null && price !== null) await lockSeller(tx, seller.id)
    const charged = await this.charges.apply(tx, payment, { amount, reason: 'settle' })
    const isOver = seller !== null && price !== null && (await isSellerGasSpent(tx, seller, payment.network, price))
    if (isOver) throw new SellerGasSpent()
    return charged
  }

  private async findOverspent(
    { requirements: { network } }: PaymentRequest,
    seller: SellerAccount | null,
  ): Promise<typeof SELLER_GAS_SPENT | null> {
    const chain = this.chains.get(network)
    if (seller === null || seller.dailyGas === null || chain === undefined) return null
    const price = await readGasPrice(chain)
    const isSpent = await isSellerGasSpent(this.ledger.db, seller, network, price, PLAIN_SETTLEMENT_GAS)
    return isSpent ? SELLER_GAS_SPENT : null
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
    this.settler.wake(payment.network)
    const waited = await this.settler.waitUntilKnown(payment, this.environment.LIMITS.receiptWaitMs)
    const standing = standingOf(waited)
    if (standing !== 'failed' && !(await this.answer(waited, standing === 'settled' ? 'granted' : 'pending'))) {
      return usedBefore(waited)
    }
    return toSettleResponse(waited, this.settler.waitOf(waited))
  }

  /** Notes what is about to be answered, before it is. `false`: it was granted already. */
  private async answer({ id }: PaymentRow, settleAnswer: 'pending' | 'granted'): Promise<boolean> {
    const notGranted = and(eq(payments.id, id), sql`${payments.settleAnswer} is distinct from 'granted'`)
    const noted = await this.ledger.db
      .update(payments)
      .set({ settleAnswer })
      .where(notGranted)
      .returning({ id: payments.id })
    return noted.length === 1
  }
}

/** Why its amount can't be charged by what was signed. */
function findExcess({ requirements: { scheme, amount }, authorization: { maximum } }: PaymentRequest): Refused | null {
  if (scheme === 'exact' && amount !== maximum) {
    const message = `the charge ${amount} is not the authorized amount ${maximum}`
    return { reason: RefusalReason.amountMismatch, message }
  }
  if (amount <= maximum) return null
  const message = `the charge ${amount} is above the authorized maximum ${maximum}`
  return { reason: RefusalReason.exceedsMaximum, message }
}

/** Why a payment is not settled for this seller, whatever it is worth on chain. */
function findUnserved(
  { requirements: { payTo, amount } }: PaymentRequest,
  seller: SellerAccount | null,
): Refused | null {
  if (seller === null) return null
  if (!seller.recipients.includes(payTo)) {
    return { reason: RefusalReason.payToNotServed, message: `payments to ${payTo} are not settled for this seller` }
  }
  if (amount === 0n || amount >= seller.minimum) return null
  const message = `${amount} is less than ${seller.minimum}, the least that is settled for this seller`
  return { reason: RefusalReason.amountTooSmall, message }
}

function usedBefore({ network, payer }: PaymentRow): SettleResponse {
  const reason = { reason: RefusalReason.nonceUsed, message: 'this authorization was used before' }
  return failure(reason, '', network, payer)
}

function networkOf(requirements: unknown): Network {
  const network = (requirements as { network?: unknown } | null | undefined)?.network
  return typeof network === 'string' && /^eip155:[0-9]{1,16}$/.test(network) ? (network as Network) : 'eip155:0'
}

/** How far a charged payment came, in x402's words. Mined counts as settled; confirmations are the ledger's. */
function toSettleResponse(payment: PaymentRow, wait: string | null): SettleResponse {
  const { network, payer } = payment
  const transaction = payment.transaction ?? ''
  const standing = standingOf(payment)
  if (standing === 'settled')
    return { success: true, payer, transaction, network, amount: (payment.charge ?? 0n).toString() }
  if (standing === 'failed') {
    const reason = payment.reason ?? RefusalReason.transactionFailed
    return failure({ reason, message: 'the settlement failed' }, transaction, network, payer)
  }
  if (standing === 'doubtful') {
    const message = `as of the newest block the settlement would fail (${payment.doubt})`
    return failure({ reason: RefusalReason.settlementDoubtful, message }, transaction, network, payer)
  }
  return failure(
    {
      reason: RefusalReason.settlementPending,
      message: `the settlement ${wait === null ? 'is under way' : `waits for ${wait}`}`,
    },
    transaction,
    network,
    payer,
  )
}

function failure(
  { reason, message }: { reason: string; message: string },
  transaction: string,
  network: Network,
  payer?: string,
): SettleResponse {
  return {
    success: false,
    errorReason: reason,
    errorMessage: message,
    transaction,
    network,
    ...(payer === undefined ? {} : { payer }),
  }
}

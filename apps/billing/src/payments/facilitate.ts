import { Injectable } from '@nestjs/common'
import { type AuthorizeRequest, RefusalReason, standingOf } from '@upfront/protocol'
import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { and, eq, sql } from 'drizzle-orm'
import { Environment } from '../environment/environment.js'
import { findPayment } from '../ledger/find-payment.js'
import { Ledger } from '../ledger/ledger.js'
import { type PaymentRow, payments, type SellerAccount } from '../ledger/schema.js'
import { readSellerGas } from '../sellers/seller-gas.js'
import { Settler } from '../settle/settler.js'
import { readSettleRequest, type SettleRequest } from '../verify/settle-request.js'
import { Authorizations } from './authorize.js'
import { Charges } from './charge.js'
import { wireReason } from './exact-reasons.js'

/** x402's facilitator for any seller: `POST /verify` and `POST /settle`, with the ledger's guarantees. */
@Injectable()
export class Facilitator {
  constructor(
    private readonly ledger: Ledger,
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
    const answer = await this.examine(paymentPayload, paymentRequirements, seller)
    const { invalidReason: reason } = answer
    return reason === undefined
      ? answer
      : { ...answer, invalidReason: wireReason(reason, paymentPayload, paymentRequirements) }
  }

  private async examine(
    paymentPayload: unknown,
    paymentRequirements: unknown,
    seller: SellerAccount | null,
  ): Promise<VerifyResponse> {
    const request = readSettleRequest(paymentPayload, paymentRequirements)
    const unserved = request.valid ? await this.findUnserved(request, seller) : null
    if (unserved !== null) {
      return { isValid: false, invalidReason: unserved.reason, invalidMessage: unserved.message }
    }
    const result = await this.authorizations.check(toAuthorize(paymentPayload, paymentRequirements))
    if (result.outcome === 'valid') return { isValid: true, payer: result.payer }
    const { reason, message, payer } = result
    return { isValid: false, invalidReason: reason, invalidMessage: message, ...(payer === null ? {} : { payer }) }
  }

  /**
   * Reserves and charges in one step, then waits for the receipt. One authorization is granted once: repeated, it is refused as used,
   * unless it was reported as pending; then it is granted once it is settled. Throws `NodeFault`.
   */
  async settle(
    paymentPayload: unknown,
    paymentRequirements: unknown,
    seller: SellerAccount | null,
  ): Promise<SettleResponse> {
    const answer = await this.settleOnce(paymentPayload, paymentRequirements, seller)
    const { errorReason: reason } = answer
    return reason === undefined
      ? answer
      : { ...answer, errorReason: wireReason(reason, paymentPayload, paymentRequirements) }
  }

  private async settleOnce(
    paymentPayload: unknown,
    paymentRequirements: unknown,
    seller: SellerAccount | null,
  ): Promise<SettleResponse> {
    const request = readSettleRequest(paymentPayload, paymentRequirements)
    if (!request.valid) return { ...failure(request, ''), network: request.network }
    const { network, payer, nonce, amount, maximumRequirements } = request
    const known = await findPayment(this.ledger.db, network, payer, nonce)
    if (known !== null) return this.repeat(known, request, seller)
    const unserved = await this.findUnserved(request, seller)
    if (unserved !== null) return failure(unserved, '', network, payer)
    const reservation = await this.authorizations.reserve(
      toAuthorize(paymentPayload, maximumRequirements),
      'facilitator',
      null,
      (tx, payment) => this.charges.apply(tx, payment, { amount, reason: 'settle' }),
      seller?.id ?? null,
    )
    if (reservation.outcome === 'reserved') return this.finish(reservation.payment)
    return failure(reservation, '', network, payer)
  }

  /** Why a payment is not settled for this seller, whatever it is worth on chain. */
  private async findUnserved(
    { payTo, amount, network }: SettleRequest,
    seller: SellerAccount | null,
  ): Promise<{ reason: string; message: string } | null> {
    if (seller === null) return null
    if (!seller.recipients.includes(payTo)) {
      return { reason: RefusalReason.payToNotServed, message: `payments to ${payTo} are not settled for this seller` }
    }
    if (amount > 0n && amount < seller.minimum) {
      const message = `${amount} is less than ${seller.minimum}, the least that is settled for this seller`
      return { reason: RefusalReason.amountTooSmall, message }
    }
    if (seller.dailyGas === null || (await readSellerGas(this.ledger.db, seller.id, network)) < seller.dailyGas)
      return null
    return { reason: RefusalReason.signerOutOfGas, message: "this seller's gas of 24 hours is spent" }
  }

  private async repeat(
    known: PaymentRow,
    request: { amount: bigint; signature: string },
    seller: SellerAccount | null,
  ): Promise<SettleResponse> {
    const isOwn = known.seller === (seller?.id ?? null)
    const isPending =
      isOwn &&
      known.settleAnswer === 'pending' &&
      known.charge === request.amount &&
      known.signature === request.signature
    return isPending ? this.finish(known) : usedBefore(known)
  }

  private async finish(payment: PaymentRow): Promise<SettleResponse> {
    this.settler.wake(payment.network)
    const waited = await this.settler.waitUntilKnown(payment, this.environment.RECEIPT_WAIT_MS)
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

function usedBefore({ network, payer }: PaymentRow): SettleResponse {
  const reason = { reason: RefusalReason.nonceUsed, message: 'this authorization was used before' }
  return failure(reason, '', network, payer)
}

function toAuthorize(paymentPayload: unknown, paymentRequirements: unknown): AuthorizeRequest {
  return { paymentPayload, paymentRequirements, route: null, minimumValiditySeconds: 0 }
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
  network: SettleResponse['network'] = 'eip155:0',
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

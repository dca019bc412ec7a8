import { Injectable } from '@nestjs/common'
import { type AuthorizeRequest, isFinal, RefusalReason } from '@upfront/protocol'
import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { Environment } from '../environment/environment.js'
import { findPayment } from '../ledger/find-payment.js'
import { Ledger } from '../ledger/ledger.js'
import type { PaymentRow } from '../ledger/schema.js'
import { Settler } from '../settle/settler.js'
import { readSettleRequest } from '../verify/settle-request.js'
import { Authorizations } from './authorize.js'
import { Charges } from './charge.js'

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

  /** Changes nothing. An authorization that was used, or is not covered beside open reservations, is invalid. Throws `NodeFault`. */
  async verify(paymentPayload: unknown, paymentRequirements: unknown): Promise<VerifyResponse> {
    const result = await this.authorizations.check(toAuthorize(paymentPayload, paymentRequirements))
    if (result.outcome === 'valid') return { isValid: true, payer: result.payer }
    const { reason, message, payer } = result
    return { isValid: false, invalidReason: reason, invalidMessage: message, ...(payer === null ? {} : { payer }) }
  }

  /**
   * Reserves and charges in one step, then waits for the receipt. Repeated for the same authorization and amount, it
   * answers what became of it. A charge of zero uses the authorization up. Throws `NodeFault`.
   */
  async settle(paymentPayload: unknown, paymentRequirements: unknown): Promise<SettleResponse> {
    const request = readSettleRequest(paymentPayload, paymentRequirements)
    if (!request.valid) return { ...failure(request, ''), network: request.network }
    const { network, payer, nonce, amount, signature, maximumRequirements } = request
    const known = await findPayment(this.ledger.db, network, payer, nonce)
    if (known !== null) return this.repeat(known, request)
    const reservation = await this.authorizations.reserve(
      toAuthorize(paymentPayload, maximumRequirements),
      'facilitator',
      null,
      async (tx, payment) => (await this.charges.apply(tx, payment, { amount, reason: 'settle' })).payment,
    )
    if (reservation.outcome === 'reserved') return this.finish(reservation.payment)
    const raced = await findPayment(this.ledger.db, network, payer, nonce)
    if (raced?.signature === signature) return this.repeat(raced, request)
    return failure(reservation, '', network, payer)
  }

  private async repeat(known: PaymentRow, request: { amount: bigint; signature: string }): Promise<SettleResponse> {
    const same =
      known.origin === 'facilitator' && known.charge === request.amount && known.signature === request.signature
    if (same) return this.finish(known)
    const message = 'this authorization was used before'
    return failure({ reason: RefusalReason.nonceUsed, message }, '', known.network, known.payer)
  }

  private async finish(payment: PaymentRow): Promise<SettleResponse> {
    this.settler.begin(payment)
    return toSettleResponse(await this.settler.waitUntilMined(payment, this.environment.RECEIPT_WAIT_MS))
  }
}

function toAuthorize(paymentPayload: unknown, paymentRequirements: unknown): AuthorizeRequest {
  return { paymentPayload, paymentRequirements, route: null, minimumValiditySeconds: 0 }
}

/** How far a charged payment came, in x402's words. Mined counts as settled; confirmations are the ledger's. */
function toSettleResponse(payment: PaymentRow): SettleResponse {
  const { network, payer, state } = payment
  const transaction = payment.transaction ?? ''
  const moved = state === 'settled' || state === 'zero' || (!isFinal(state) && payment.blockNumber !== null)
  if (moved) return { success: true, payer, transaction, network, amount: (payment.charge ?? 0n).toString() }
  if (state === 'failed') {
    const reason = payment.reason ?? RefusalReason.transactionFailed
    return failure({ reason, message: 'the settlement failed' }, transaction, network, payer)
  }
  return failure(
    { reason: RefusalReason.settlementPending, message: 'the settlement is under way' },
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

import { Injectable, Logger } from '@nestjs/common'
import { SettleError, type SettleResponse } from '@x402/core/types'
import type { VerifiedPayment } from '../admit/admission.js'
import { sanitizeReason } from '../admit/payment-required.js'
import { SETTLEMENT_DOUBTFUL, SETTLEMENT_PENDING } from '../routes/durable-facilitator.js'
import { ConfiguredFacilitator } from '../routes/facilitator.js'
import type { Charge } from './charge.js'

/** `receipt` is the content of the PAYMENT-RESPONSE header. */
export interface SettlementResult {
  outcome: 'settled' | 'pending' | 'doubtful' | 'nothing' | 'failed'
  receipt: SettleResponse
}

const UNDECIDED: Record<string, 'pending' | 'doubtful'> = {
  [SETTLEMENT_PENDING]: 'pending',
  [SETTLEMENT_DOUBTFUL]: 'doubtful',
}

/** Settles a decided charge. Never rejects: an unknown outcome is `pending`. */
@Injectable()
export class Settler {
  private readonly logger = new Logger('PaidRoutes')

  constructor(private readonly facilitator: ConfiguredFacilitator) {}

  async settle({ payload, offer, payer }: VerifiedPayment, charge: Charge): Promise<SettlementResult> {
    const { network } = offer.requirements
    const amount = charge.amount.toString()
    const receipt = { payer, network, amount, transaction: '' }
    if (charge.amount === 0n && this.facilitator.durable && charge.reason !== 'usage') {
      await this.facilitator.release(payload, offer.requirements, charge.reason)
      return { outcome: 'nothing', receipt: { ...receipt, success: true } }
    }
    // An `exact` authorization can't be settled at zero: the facilitator is not asked.
    if (charge.amount === 0n && offer.requirements.scheme === 'exact')
      return { outcome: 'nothing', receipt: { ...receipt, success: true } }
    let settled: Pick<SettleResponse, 'success' | 'transaction' | 'errorReason'>
    try {
      settled = await this.facilitator.settle(payload, { ...offer.requirements, amount }, { reason: charge.reason })
    } catch (error) {
      if (!(error instanceof SettleError)) {
        this.logger.error({ message: 'the outcome of a charge is unknown', payer, amount, error: String(error) })
        return { outcome: 'pending', receipt: { ...receipt, success: false, errorReason: SETTLEMENT_PENDING } }
      }
      const { errorReason = '', transaction } = error
      settled = { success: false, errorReason, transaction }
    }
    const transaction = /^0x[0-9a-fA-F]{64}$/.test(settled.transaction) ? settled.transaction : ''
    if (settled.success) {
      const outcome = charge.amount === 0n ? 'nothing' : 'settled'
      return { outcome, receipt: { ...receipt, success: true, transaction } }
    }
    const errorReason = sanitizeReason(settled.errorReason) ?? 'settlement_failed'
    return {
      outcome: UNDECIDED[errorReason] ?? 'failed',
      receipt: { ...receipt, success: false, errorReason, transaction },
    }
  }
}

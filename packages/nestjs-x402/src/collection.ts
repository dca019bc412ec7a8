import { Inject, Injectable, Logger } from '@nestjs/common'
import { SettleError, type SettleResponse } from '@x402/core/types'
import type { Admitted } from './admission.js'
import type { Charge } from './charge.js'
import { type DurableFacilitatorClient, isDurable, SETTLEMENT_PENDING } from './facilitator.js'
import { PAID_ROUTES_OPTIONS, type PaidRoutesOptions } from './paid-routes-options.js'

/** What a charge came to. `receipt` is the PAYMENT-RESPONSE. */
export interface Collected {
  outcome: 'settled' | 'pending' | 'nothing' | 'failed'
  receipt: SettleResponse
}

/** Charges what was decided. Never rejects: what is not known is `pending`. */
@Injectable()
export class Collections {
  readonly #client: DurableFacilitatorClient
  readonly #durable: boolean
  readonly #logger = new Logger('PaidRoutes')

  constructor(@Inject(PAID_ROUTES_OPTIONS) { facilitator }: PaidRoutesOptions) {
    this.#durable = isDurable(facilitator)
    this.#client = facilitator as DurableFacilitatorClient
  }

  async collect({ payload, offer, payer }: Admitted, charge: Charge): Promise<Collected> {
    const { network } = offer.requirements
    const amount = charge.amount.toString()
    const receipt = { payer, network, amount, transaction: '' }
    if (charge.amount === 0n && this.#durable && charge.reason !== 'usage') {
      try {
        await this.#client.release(payload, offer.requirements, charge.reason)
      } catch (error) {
        this.#logger.warn({ message: 'a payment could not be released', reason: charge.reason, error: String(error) })
      }
      return { outcome: 'nothing', receipt: { ...receipt, success: true } }
    }
    let settled: SettleResponse
    try {
      settled = await this.#client.settle(payload, { ...offer.requirements, amount }, { reason: charge.reason })
    } catch (error) {
      if (!(error instanceof SettleError)) {
        this.#logger.error({ message: 'the outcome of a charge is unknown', payer, amount, error: String(error) })
        return { outcome: 'pending', receipt: { ...receipt, success: false, errorReason: SETTLEMENT_PENDING } }
      }
      settled = {
        ...receipt,
        success: false,
        ...(error.errorReason === undefined ? {} : { errorReason: error.errorReason }),
        transaction: error.transaction,
      }
    }
    const transaction = /^0x[0-9a-fA-F]{64}$/.test(settled.transaction) ? settled.transaction : ''
    if (settled.success) {
      return {
        outcome: charge.amount === 0n ? 'nothing' : 'settled',
        receipt: { ...receipt, success: true, transaction },
      }
    }
    const errorReason = settled.errorReason ?? ''
    return {
      outcome: errorReason === SETTLEMENT_PENDING ? 'pending' : 'failed',
      receipt: {
        ...receipt,
        success: false,
        errorReason: /^[a-zA-Z0-9_.-]{1,80}$/.test(errorReason) ? errorReason : 'settlement_failed',
        transaction,
      },
    }
  }
}

import { Inject, Injectable, Logger } from '@nestjs/common'
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'
import { type DurableFacilitatorClient, isDurable, type SettleTerms, type VerifyTerms } from './durable-facilitator.js'
import { PAID_ROUTES_OPTIONS, type PaidRoutesOptions } from './paid-routes-options.js'

/** The app's facilitator, plain or durable. */
@Injectable()
export class Facilitator {
  private readonly client: FacilitatorClient | DurableFacilitatorClient
  private readonly logger = new Logger('PaidRoutes')

  constructor(@Inject(PAID_ROUTES_OPTIONS) { facilitator }: PaidRoutesOptions) {
    this.client = facilitator
  }

  get durable(): boolean {
    return isDurable(this.client)
  }

  verify(payload: PaymentPayload, requirements: PaymentRequirements, terms: VerifyTerms): Promise<VerifyResponse> {
    return (this.client as DurableFacilitatorClient).verify(payload, requirements, terms)
  }

  settle(payload: PaymentPayload, requirements: PaymentRequirements, terms: SettleTerms): Promise<SettleResponse> {
    return (this.client as DurableFacilitatorClient).settle(payload, requirements, terms)
  }

  /** Gives up a verified payment. Never rejects; a plain facilitator has nothing to give up. */
  async release(payload: PaymentPayload, requirements: PaymentRequirements, reason: string): Promise<void> {
    if (!isDurable(this.client)) return
    try {
      await this.client.release(payload, requirements, reason)
    } catch (error) {
      this.logger.warn({ message: 'a payment could not be released', reason, error: String(error) })
    }
  }
}

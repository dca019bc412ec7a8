import { Inject, Injectable, Logger } from '@nestjs/common'
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'
import { type DurableFacilitatorClient, isDurable, type SettleTerms, type VerifyTerms } from './durable-facilitator.js'
import { FACILITATOR_CLIENT } from './paid-routes-options.js'

/** The app's facilitator, plain or durable. */
@Injectable()
export class ConfiguredFacilitator {
  private readonly logger = new Logger('PaidRoutes')

  constructor(@Inject(FACILITATOR_CLIENT) readonly client: FacilitatorClient & Partial<DurableFacilitatorClient>) {}

  get durable(): boolean {
    return isDurable(this.client)
  }

  /** Logs an error if no payment can be taken now. The app starts anyway. */
  async check(): Promise<void> {
    try {
      await (this.client.check?.() ?? this.client.getSupported())
    } catch (error) {
      const message =
        'the facilitator accepts no payments: every paid route answers 503 until it does; check its URL and token'
      this.logger.error({ message, error: String(error) })
    }
  }

  /** Logs a warning if the chain's block time exceeds the settlement wait: most answers would be delivered while still unpaid. */
  async warnOfSlowBlocks(network: string): Promise<void> {
    try {
      const times = await this.client.settlementTimes?.(network)
      if (times === undefined || times.blockSeconds <= times.waitSeconds) return
      const message = `onPending is deliver, and blocks take longer than the ${times.waitSeconds} s that a route waits for a payment: most answers are sent before they are paid`
      this.logger.warn({ message, network, blockSeconds: times.blockSeconds })
    } catch {
      // `check` has already reported that the facilitator can't be reached.
    }
  }

  verify(payload: PaymentPayload, requirements: PaymentRequirements, terms: VerifyTerms): Promise<VerifyResponse> {
    return this.client.verify(payload, requirements, terms)
  }

  settle(payload: PaymentPayload, requirements: PaymentRequirements, terms: SettleTerms): Promise<SettleResponse> {
    return this.client.settle(payload, requirements, terms)
  }

  /** Stores a withheld or lost answer for other processes of the seller. Never rejects: this process keeps a copy. */
  async keepAnswer(payload: PaymentPayload, answer: string, seconds: number): Promise<void> {
    if (this.client.keepAnswer === undefined) return
    try {
      if (await this.client.keepAnswer(payload, answer, seconds)) return
      this.logger.warn({
        message: 'a withheld answer is kept by this process only: it is too long, or there are too many',
      })
    } catch (error) {
      this.logger.warn({ message: 'a withheld answer is kept by this process only', error: String(error) })
    }
  }

  /** Returns an answer that another process of the seller stored. Never rejects. */
  async findAnswer(payload: PaymentPayload): Promise<string | undefined> {
    try {
      return await this.client.findAnswer?.(payload)
    } catch (error) {
      this.logger.warn({ message: 'could not look up a withheld answer', error: String(error) })
      return undefined
    }
  }

  /** Cancels a verified payment. Never rejects; does nothing for a plain facilitator. */
  async release(payload: PaymentPayload, requirements: PaymentRequirements, reason: string): Promise<void> {
    try {
      await this.client.release?.(payload, requirements, reason)
    } catch (error) {
      this.logger.warn({ message: 'could not release a payment', reason, error: String(error) })
    }
  }
}

import { Inject, Injectable, Logger } from '@nestjs/common'
import type { PaymentPayload, ResourceInfo, VerifyResponse } from '@x402/core/types'
import { VerifyError } from '@x402/core/types'
import { type DurableFacilitatorClient, isDurable } from './facilitator.js'
import { findAccepted, type Offer } from './offers.js'
import { SETTLEMENT_SECONDS } from './paid-route-options.js'
import { type CompiledRoute, PaidRoutes } from './paid-routes.js'
import { PAID_ROUTES_OPTIONS, type PaidRoutesOptions } from './paid-routes-options.js'
import { type Authorization, decodePaymentHeader, PaymentHeaderError, type SignedPayment } from './payment-header.js'
import { type HttpAnswer, paymentRequired, type Refusal, refusalOf, UNPAID } from './payment-required.js'
import { SpentAuthorizations } from './spent-authorizations.js'

/** What is asked, free of any framework. */
export interface PaidAttempt {
  /** The PAYMENT-SIGNATURE header. */
  payment: string | undefined
  accept: string | undefined
  url: string
}

export interface Admitted {
  payload: PaymentPayload
  offer: Offer
  payer: string
}

export type Admission = { admitted: Admitted } | { answer: HttpAnswer }

/** Lets a request through to its handler, or says what it answers instead. Nothing of the handler has run. */
@Injectable()
export class Admissions {
  readonly #client: DurableFacilitatorClient
  readonly #durable: boolean
  readonly #spent = new SpentAuthorizations()
  readonly #logger = new Logger('PaidRoutes')

  constructor(
    @Inject(PAID_ROUTES_OPTIONS) { facilitator }: PaidRoutesOptions,
    private readonly routes: PaidRoutes,
  ) {
    this.#durable = isDurable(facilitator)
    this.#client = facilitator as DurableFacilitatorClient
  }

  async admit(route: CompiledRoute, attempt: PaidAttempt): Promise<Admission> {
    const { settings } = route
    let offers: Offer[]
    try {
      offers = await this.routes.offers.of(settings)
    } catch (error) {
      return { answer: this.#unavailable(route, error) }
    }
    const resource: ResourceInfo = {
      url: attempt.url,
      description: settings.description,
      mimeType: settings.mimeType,
    }
    const refuse = (refusal: Refusal): Admission => ({
      answer: paymentRequired(
        refusal,
        offers,
        resource,
        settings.charge,
        attempt.payment === undefined ? attempt.accept : undefined,
      ),
    })
    if (attempt.payment === undefined) return refuse(UNPAID)
    let signed: SignedPayment
    try {
      signed = decodePaymentHeader(attempt.payment)
    } catch (error) {
      if (!(error instanceof PaymentHeaderError)) throw error
      return refuse({ reason: 'invalid_payload', message: `The payment does not decode: ${error.message}.` })
    }
    const { payload, authorization } = signed
    const offer = findAccepted(offers, payload.accepted)
    if (offer === undefined) return refuse(refusalOf('no_matching_payment_requirements'))
    const handlerSeconds = Math.ceil(settings.timeout / 1000)
    if (endsTooSoon(authorization, handlerSeconds)) return refuse(refusalOf('permit2_deadline_expired'))
    if (!this.#durable && !this.#spent.spend(offer.requirements.network, authorization)) {
      return refuse(refusalOf('authorization_used'))
    }
    let verified: VerifyResponse
    try {
      verified = await this.#client.verify(payload, offer.requirements, { route: route.name, handlerSeconds })
    } catch (error) {
      this.#spent.unspend(offer.requirements.network, authorization)
      if (!(error instanceof VerifyError)) return { answer: this.#unavailable(route, error) }
      return refuse(refusalOf(error.invalidReason))
    }
    if (verified.isValid !== true) {
      this.#spent.unspend(offer.requirements.network, authorization)
      return refuse(refusalOf(verified.invalidReason))
    }
    const admitted = { payload, offer, payer: authorization.payer }
    if (endsTooSoon(authorization, handlerSeconds)) {
      await this.giveUp(admitted, 'verified_too_late')
      return refuse(refusalOf('permit2_deadline_expired'))
    }
    return { admitted }
  }

  /** For a payment that was verified and will not be charged. */
  async giveUp({ payload, offer }: Admitted, reason: string): Promise<void> {
    if (!this.#durable) return
    try {
      await this.#client.release(payload, offer.requirements, reason)
    } catch (error) {
      this.#logger.warn({ message: 'a payment could not be released', reason, error: String(error) })
    }
  }

  #unavailable(route: CompiledRoute, error: unknown): HttpAnswer {
    this.#logger.error({ message: 'payments are unavailable', route: route.name, error: String(error) })
    const { retryAfterSeconds } = error as { retryAfterSeconds?: unknown }
    const seconds = typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0 ? Math.ceil(retryAfterSeconds) : 2
    return {
      status: 503,
      headers: {
        'Retry-After': String(seconds),
        'Content-Type': 'application/json; charset=utf-8',
        'Cache-Control': 'no-store',
      },
      body: JSON.stringify({
        error: 'payments_unavailable',
        message: 'Payments can not be verified at the moment. Nothing was run or charged.',
      }),
    }
  }
}

function endsTooSoon({ deadline }: Authorization, handlerSeconds: number): boolean {
  return deadline < BigInt(Math.floor(Date.now() / 1000) + handlerSeconds + SETTLEMENT_SECONDS)
}

import { Inject, Injectable, Logger } from '@nestjs/common'
import {
  DEADLINE_SLACK_SECONDS,
  DecodeError,
  EXACT_VALIDITY_SECONDS,
  RefusalReason,
  SETTLEMENT_MARGIN_SECONDS,
} from '@upfront/protocol'
import type { PaymentPayload, PaymentRequirements, ResourceInfo, VerifyResponse } from '@x402/core/types'
import { VerifyError } from '@x402/core/types'
import { type AnswerKey, AnswerStore, digestRequest } from '../hold/answer-store.js'
import { type HttpAnswer, jsonAnswer } from '../hold/http-answer.js'
import { ConfiguredFacilitator } from '../routes/facilitator.js'
import type { IncomingRequest } from '../routes/incoming-request.js'
import { findAcceptedOffer, type Offer } from '../routes/offers.js'
import type { OfferExtension } from '../routes/paid-route-options.js'
import { type CompiledRoute, PaidRoutes } from '../routes/paid-routes.js'
import { PAID_ROUTES_OPTIONS, type PaidRoutesOptions } from '../routes/paid-routes-options.js'
import { replaceEchoedDescription } from './describe-route.js'
import { offerExtensions } from './offer-extensions.js'
import { decodePaymentHeader, type PaymentHeader } from './payment-header.js'
import { paymentRequired, type Refusal, refusalOf, UNPAID } from './payment-required.js'
import { SpentAuthorizations } from './spent-authorizations.js'

/** A verified payment. Its handler may run. */
export interface VerifiedPayment {
  payload: PaymentPayload
  offer: Offer
  payer: string
  /** Deadline of the authorization, Unix seconds. */
  deadline: bigint
  /** URL of the request as stated in the offer. */
  resourceUrl: string
  /** Finds the answer again if the same payment is repeated. */
  answerKey: AnswerKey
}

/** Decides whether a request may reach its handler, or which answer it gets instead. Runs before the handler. */
@Injectable()
export class Admission {
  private readonly spent = new SpentAuthorizations()
  private readonly logger = new Logger('PaidRoutes')

  constructor(
    @Inject(PAID_ROUTES_OPTIONS) private readonly options: PaidRoutesOptions,
    private readonly routes: PaidRoutes,
    private readonly facilitator: ConfiguredFacilitator,
    private readonly answers: AnswerStore,
  ) {}

  /** @param recall finds the answer to a payment that was used before, if another process of this seller withheld it or lost its client */
  async admit(
    route: CompiledRoute,
    request: IncomingRequest,
    recall: (payment: VerifiedPayment) => Promise<HttpAnswer | 'conflict' | undefined>,
  ): Promise<{ verified: VerifiedPayment } | { answer: HttpAnswer }> {
    const { settings } = route
    const signed = request.payment === undefined ? undefined : decode(request.payment)
    let answerKey: AnswerKey | undefined
    if (signed !== undefined && !(signed instanceof DecodeError)) {
      // Must come before verification: a settled or expired payment would not verify again.
      answerKey = makeAnswerKey(signed, request)
      if (answerKey === undefined) return { answer: TOO_DEEP }
      const kept = await this.answers.find(answerKey)
      if (kept === 'conflict') return { answer: CONFLICT }
      if (kept !== undefined && kept !== 'identifier taken') return { answer: kept }
    }
    let offers: Offer[]
    try {
      offers = await this.routes.offers.of(settings)
    } catch (error) {
      return { answer: this.unavailable(route, error) }
    }
    const resource: ResourceInfo = {
      url: request.url,
      description: settings.description,
      mimeType: settings.mimeType,
    }
    const isSponsored = offers.some(({ isGasSponsored }) => isGasSponsored)
    const extensions = offerExtensions(settings, route.name, this.answers.seconds, isSponsored)
    const refuse = async (refusal: Refusal) => {
      const accept = request.payment === undefined ? request.accept : undefined
      const all = { ...extensions, ...(await this.createOfferExtensions(route, resource.url, offers)) }
      return { answer: paymentRequired(refusal, offers, resource, settings, all, this.answers.seconds, accept) }
    }
    if (signed === undefined) return refuse(UNPAID)
    if (signed instanceof DecodeError || answerKey === undefined) {
      const { message, place } = signed as DecodeError
      if (/accepted\.(scheme|network)$/.test(place)) return refuse(refusalOf('no_matching_payment_requirements'))
      return refuse({ reason: 'invalid_payload', message: `The payment cannot be decoded: ${message}.` })
    }
    const { authorization, payer } = signed
    const payload = replaceEchoedDescription(signed.payload, resource, extensions)
    const offer = findAcceptedOffer(offers, payload.accepted)
    if (offer === undefined) return refuse(refusalOf('no_matching_payment_requirements'))
    const { network } = offer.requirements
    const handlerSeconds = Math.ceil(settings.timeout / 1000)
    const { deadline } = authorization
    const verifiedPayment: VerifiedPayment = { payload, offer, payer, deadline, resourceUrl: request.url, answerKey }
    /** Refuses, unless another process of this seller has withheld the answer to this payment. */
    const refuseUnlessStored = async (reason: string | undefined) => {
      const kept = await recall(verifiedPayment)
      if (kept === undefined) return refuse(refusalOf(reason))
      return { answer: kept === 'conflict' ? CONFLICT : kept }
    }
    if (expiresTooSoon(authorization, handlerSeconds)) return refuseUnlessStored('permit2_deadline_expired')
    if (expiresTooLate(authorization, offer.requirements)) {
      return refuse(refusalOf('permit2_deadline_too_far'))
    }
    if (!this.facilitator.durable && !this.spent.spend(network, authorization)) {
      return refuse(refusalOf('authorization_used'))
    }
    let verified: VerifyResponse
    try {
      verified = await this.facilitator.verify(payload, offer.requirements, { route: route.name, handlerSeconds })
    } catch (error) {
      this.spent.unspend(network, authorization)
      if (!(error instanceof VerifyError)) return { answer: this.unavailable(route, error) }
      return refuse(refusalOf(error.invalidReason))
    }
    if (verified.isValid !== true) {
      this.spent.unspend(network, authorization)
      // The same payment may have been admitted while this one was being verified.
      const kept = await this.answers.find(answerKey)
      if (typeof kept === 'object') return { answer: kept }
      if (verified.invalidReason === RefusalReason.identifierTaken) return { answer: CONFLICT }
      return refuseUnlessStored(verified.invalidReason)
    }
    if (expiresTooSoon(authorization, handlerSeconds)) {
      await this.facilitator.release(payload, offer.requirements, 'verified_too_late')
      return refuse(refusalOf('permit2_deadline_expired'))
    }
    return { verified: verifiedPayment }
  }

  private async createOfferExtensions(
    route: CompiledRoute,
    resourceUrl: string,
    offers: readonly Offer[],
  ): Promise<Record<string, OfferExtension> | undefined> {
    try {
      return await this.options.offerExtensions?.({
        route: route.name,
        resourceUrl,
        accepts: offers.map(({ requirements }) => requirements),
      })
    } catch (error) {
      this.logger.error({ message: 'offerExtensions rejected', error: String(error) })
      return undefined
    }
  }

  private unavailable(route: CompiledRoute, error: unknown): HttpAnswer {
    this.logger.error({ message: 'payments are unavailable', route: route.name, error: String(error) })
    const { retryAfterSeconds } = error as { retryAfterSeconds?: unknown }
    const seconds = typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0 ? Math.ceil(retryAfterSeconds) : 2
    const message =
      'Payments cannot be verified at the moment. Nothing was run or charged. Repeat the request with the same payment.'
    return jsonAnswer(503, { error: 'payments_unavailable', message }, { 'Retry-After': String(seconds) })
  }
}

/** The answer to a payment whose identifier or authorization belongs to another request. */
export const CONFLICT = jsonAnswer(409, {
  error: 'payment_conflict',
  message:
    'This payment identifier or authorization belongs to another request. Nothing was run or charged. Sign a new payment, with a new identifier.',
})

function decode(header: string): PaymentHeader | DecodeError {
  try {
    return decodePaymentHeader(header)
  } catch (error) {
    if (error instanceof DecodeError) return error
    throw error
  }
}

const TOO_DEEP = jsonAnswer(400, {
  error: 'invalid_body',
  message: 'The body nests too deeply. Nothing was run or charged.',
})

/** Undefined if the body nests too deeply to be written as JSON. */
function makeAnswerKey(
  { payload, authorization, identifier }: PaymentHeader,
  { method, url, body }: IncomingRequest,
): AnswerKey | undefined {
  const { payer, nonce } = authorization
  const digests = digestRequest(payload, method, pathOf(url), body)
  if (digests === undefined) return undefined
  return {
    authorization: `authorization ${payload.accepted.network} ${payer} ${nonce}`,
    identifier: identifier === undefined ? undefined : `identifier ${payer} ${identifier}`,
    ...digests,
  }
}

/** Drops scheme and host: replicas of one seller may be reached under different names. */
function pathOf(url: string): string {
  return url.replace(/^[a-z]+:\/\/[^/?]*/i, '')
}

/** Whether the deadline is later than offered. An authorization without a near deadline would have to be remembered for as long. */
function expiresTooLate(
  { deadline }: { deadline: bigint },
  { scheme, maxTimeoutSeconds: offered }: PaymentRequirements,
): boolean {
  const maxTimeoutSeconds = scheme === 'exact' ? Math.max(offered, EXACT_VALIDITY_SECONDS) : offered
  return deadline > BigInt(Math.floor(Date.now() / 1000) + maxTimeoutSeconds + DEADLINE_SLACK_SECONDS)
}

function expiresTooSoon({ deadline }: { deadline: bigint }, handlerSeconds: number): boolean {
  return deadline < BigInt(Math.floor(Date.now() / 1000) + handlerSeconds + SETTLEMENT_MARGIN_SECONDS)
}

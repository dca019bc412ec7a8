import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import {
  type CanActivate,
  type ExecutionContext,
  HttpException,
  Injectable,
  Logger,
  type OnModuleInit,
  UseGuards,
} from '@nestjs/common'
import { ModuleRef } from '@nestjs/core'
import { Admission, CONFLICT } from './admit/admission.js'
import { Completion } from './charge/completion.js'
import { attachPayment, PaidRequest, rawResponse } from './charge/paid-request.js'
import { AnswerStore } from './hold/answer-store.js'
import { HeldResponse } from './hold/held-response.js'
import type { HttpAnswer } from './hold/http-answer.js'
import { ConfiguredFacilitator } from './routes/facilitator.js'
import type { IncomingRequest } from './routes/incoming-request.js'
import { isUpfront } from './routes/offers.js'
import { type CompiledRoute, PaidRoutes } from './routes/paid-routes.js'

/** The request fields that Express and Fastify share. */
interface FrameworkRequest {
  headers: IncomingHttpHeaders
  protocol?: string
  method: string
  originalUrl?: string
  url: string
  body?: unknown
}

type FrameworkResponse = (ServerResponse | { raw: ServerResponse }) & {
  getHeaders(): OutgoingHttpHeaders
  /** Fastify only: stops it from sending its own answer. */
  hijack?(): void
}

/** Ends Nest's handling of a request that has already been answered. */
class Answered extends HttpException {
  constructor(status: number) {
    super('answered by the payment guard', status)
  }
}

/** Runs before every handler. Stops paid handlers until their payment is verified, then holds their answers until the charge is stored. */
@Injectable()
export class PaymentGuard implements CanActivate {
  private readonly logger = new Logger('PaidRoutes')

  constructor(
    private readonly routes: PaidRoutes,
    private readonly admission: Admission,
    private readonly facilitator: ConfiguredFacilitator,
    private readonly completion: Completion,
    private readonly answers: AnswerStore,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return !this.routes.has(context.getClass())
    const request = context.switchToHttp().getRequest<FrameworkRequest>()
    const response = context.switchToHttp().getResponse<FrameworkResponse>()
    const route = await this.routes.find(context.getClass(), context.getHandler(), request)
    if (route !== undefined) await this.admit(route, request, response)
    return true
  }

  /** @throws Answered if the request was refused and answered */
  private async admit(route: CompiledRoute, request: FrameworkRequest, response: FrameworkResponse): Promise<void> {
    const incoming: IncomingRequest = {
      payment: header(request.headers['payment-signature']),
      accept: header(request.headers.accept),
      method: request.method,
      url: urlOf(request),
      body: request.body,
    }
    if (route.settings.free?.(incoming)) return
    const raw = rawResponse(response)
    const admission = await this.admission.admit(route, incoming, (used) => this.completion.recall(route, used))
    const answerInstead = (held: HeldResponse, answer: HttpAnswer) => {
      response.hijack?.()
      held.replace(answer)
    }
    const refuse = (answer: HttpAnswer): never => {
      answerInstead(new HeldResponse(raw, 0, response.getHeaders()), answer)
      throw new Answered(answer.status)
    }
    if ('answer' in admission) return refuse(admission.answer)
    const { payload, payer, offer, answerKey } = admission.verified
    if (raw.destroyed || raw.closed) {
      await this.facilitator.release(payload, offer.requirements, 'client_gone')
      throw new Answered(499)
    }
    // Synchronous: of concurrent payments with one identifier the first takes it, even if the facilitator does not know identifiers.
    const place = this.answers.begin(answerKey, raw)
    if (place === undefined) {
      await this.facilitator.release(payload, offer.requirements, 'identifier_taken')
      return refuse(CONFLICT)
    }
    const onLate = (amount: unknown) => {
      this.logger.error({ message: 'an amount was set after the charge was decided', route: route.name, amount })
    }
    const payment = new PaidRequest(route.name, payer, offer.requirements, offer.decimals, onLate, payload)
    const early = isUpfront(offer)
      ? await this.completion.settleUpfront(route, admission.verified, payment, raw)
      : { upfront: undefined }
    if ('answer' in early) {
      place.fill(undefined)
      return refuse(early.answer)
    }
    const held = new HeldResponse(raw, route.settings.holdBytes, response.getHeaders())
    attachPayment(raw, payment)
    this.completion.begin({
      route,
      verified: admission.verified,
      payment,
      place,
      held,
      response: raw,
      upfront: early.upfront,
      answerInstead: (answer) => answerInstead(held, answer),
    })
  }
}

/**
 * Calls {@link PaymentGuard} before every handler of the app. `PaymentGuard` is an injectable of its module (by the decorator below), not a
 * provider, so that `overrideGuard(PaymentGuard)` of @nestjs/testing works.
 */
@UseGuards(PaymentGuard)
@Injectable()
export class EveryHandlerGuard implements CanActivate, OnModuleInit {
  private guard!: CanActivate

  constructor(private readonly modules: ModuleRef) {}

  onModuleInit(): void {
    this.guard = this.modules.get(PaymentGuard)
  }

  canActivate(context: ExecutionContext): ReturnType<CanActivate['canActivate']> {
    return this.guard.canActivate(context)
  }
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}

/** A longer URL is offered without its query: buyers echo it in a base64 header, in addition to the URL itself. */
const MAX_URL = 2_048

function urlOf(request: FrameworkRequest): string {
  const host = request.headers.host ?? 'localhost'
  const url = `${request.protocol ?? 'http'}://${host}${request.originalUrl ?? request.url}`
  return (url.length > MAX_URL ? (url.split('?', 1)[0] ?? '') : url).slice(0, MAX_URL)
}

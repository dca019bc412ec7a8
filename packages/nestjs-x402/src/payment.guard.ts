import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type CanActivate, type ExecutionContext, HttpException, Injectable, Logger } from '@nestjs/common'
import { Admissions } from './admission.js'
import { Completions } from './completion.js'
import { HeldResponse } from './held-response.js'
import { PaidRequest } from './paid-request.js'
import { paymentOf, rawResponse, rememberPayment } from './paid-requests.js'
import { PaidRoutes } from './paid-routes.js'
import type { HttpAnswer } from './payment-required.js'

/** What Express and Fastify have in common. */
interface FrameworkRequest {
  headers: IncomingHttpHeaders
  protocol?: string
  originalUrl?: string
  url: string
  raw?: IncomingMessage
}

type FrameworkResponse = (ServerResponse | { raw: ServerResponse }) & {
  getHeaders(): OutgoingHttpHeaders
  /** Fastify: it will not answer by itself. */
  hijack?(): void
}

/** Ends Nest's handling of a request that was answered already. */
class Answered extends HttpException {
  constructor(status: number) {
    super('answered by the payment guard', status)
  }
}

/**
 * Stands before every handler and stops those that are paid until their payment is verified; from then on it holds their
 * answers back until the charge is stored.
 */
@Injectable()
export class PaymentGuard implements CanActivate {
  readonly #logger = new Logger('PaidRoutes')

  constructor(
    private readonly routes: PaidRoutes,
    private readonly admissions: Admissions,
    private readonly completions: Completions,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const route = this.routes.of(context.getClass(), context.getHandler())
    if (route === undefined) return true
    if (context.getType() !== 'http') return false
    const request = context.switchToHttp().getRequest<FrameworkRequest>()
    const response = context.switchToHttp().getResponse<FrameworkResponse>()
    const raw = rawResponse(response)
    // The module's guard and the decorator's stand before the same handler.
    if (paymentOf(raw) !== undefined) return true

    const admission = await this.admissions.admit(route, {
      payment: header(request.headers['payment-signature']),
      accept: header(request.headers.accept),
      url: urlOf(request),
    })
    const answerInstead = (held: HeldResponse, { status, headers, body }: HttpAnswer) => {
      response.hijack?.()
      held.replace(status, headers, body)
    }
    if ('answer' in admission) {
      answerInstead(new HeldResponse(raw, 0, response.getHeaders()), admission.answer)
      throw new Answered(admission.answer.status)
    }
    const { admitted } = admission
    if (raw.destroyed || raw.closed) {
      await this.admissions.giveUp(admitted, 'client_gone')
      throw new Answered(499)
    }
    const payment = new PaidRequest(
      route.name,
      admitted.payer,
      admitted.offer.requirements,
      admitted.offer.decimals,
      (amount) => {
        this.#logger.error({ message: 'an amount was set after the charge was decided', route: route.name, amount })
      },
    )
    const held = new HeldResponse(raw, route.settings.holdBytes, response.getHeaders())
    rememberPayment(raw, payment)
    this.completions.begin({
      route,
      admitted,
      payment,
      held,
      response: raw,
      answerInstead: (answer) => answerInstead(held, answer),
    })
    return true
  }
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}

/** A longer URL goes without its query: the buyer sends it back in a header, base64, beside the URL itself. */
const LONGEST_URL = 2_048

function urlOf(request: FrameworkRequest): string {
  const host = request.headers.host ?? 'localhost'
  const url = `${request.protocol ?? 'http'}://${host}${request.originalUrl ?? request.url}`
  return (url.length > LONGEST_URL ? (url.split('?', 1)[0] ?? '') : url).slice(0, LONGEST_URL)
}

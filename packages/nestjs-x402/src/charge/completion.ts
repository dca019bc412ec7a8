import type { ServerResponse } from 'node:http'
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common'
import { encodePaymentResponseHeader } from '@x402/core/http'
import { withPrivateCacheControl } from '@x402/core/server'
import type { VerifiedPayment } from '../admit/admission.js'
import type { HttpAnswer } from '../admit/payment-required.js'
import { AnswerStore, type SentAnswer } from '../hold/answer-store.js'
import type { HeldResponse } from '../hold/held-response.js'
import type { CompiledRoute } from '../routes/paid-routes.js'
import { PAID_ROUTES_OPTIONS, type PaidRoutesOptions } from '../routes/paid-routes-options.js'
import { type Charge, decideCharge } from './charge.js'
import { type HandlerEnd, handlerEnd } from './handler-end.js'
import type { PaidRequest } from './paid-request.js'
import { type SettlementResult, Settler } from './settler.js'

/** A request whose handler may run. */
export interface RunningRequest {
  route: CompiledRoute
  verified: VerifiedPayment
  payment: PaidRequest
  held: HeldResponse
  response: ServerResponse
  answerInstead(answer: HttpAnswer): void
}

/** From the start of a paid handler to its answer: waits for its end, decides the charge, settles, sends the answer. */
@Injectable()
export class Completion implements OnApplicationShutdown {
  private readonly underWay = new Set<Promise<void>>()
  private readonly logger = new Logger('PaidRoutes')

  constructor(
    @Inject(PAID_ROUTES_OPTIONS) private readonly options: PaidRoutesOptions,
    private readonly settler: Settler,
    private readonly answers: AnswerStore,
  ) {}

  begin(running: RunningRequest): void {
    const sent = this.answers.begin(running.verified.answerKey, running.response)
    const work = this.complete(running, sent)
      .catch((error: unknown) => {
        this.logger.error({
          message: 'a paid answer could not be sent',
          route: running.route.name,
          error: String(error),
        })
        sent(undefined)
        running.response.destroy()
      })
      .finally(() => this.underWay.delete(work))
    this.underWay.add(work)
  }

  /** Clients that left have no connection any more, but perhaps a charge that is not stored yet. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.underWay)
  }

  private async complete(running: RunningRequest, sent: (answer: SentAnswer | undefined) => void): Promise<void> {
    const { route, verified, payment, held } = running
    const end = await handlerEnd(running, route.settings.timeout)
    const terms = { maximum: payment.maximum, decimals: payment.decimals, policy: route.settings.charge }
    const overrides = held.takeHeader('Settlement-Overrides')
    const charge = decideCharge(end, payment.closeAmount() ?? amountOfHeader(overrides), terms)
    if (charge.fault !== undefined) {
      this.logger.error({ message: 'the seller set an invalid amount', route: route.name, fault: charge.fault })
    }
    const result = await this.extended(await this.settler.settle(verified, charge), end, verified)
    const answer = this.answer(running, end, charge, result)
    // Who left before the handler answered has paid for a part, not for the answer.
    sent(end.kind === 'answered' ? answer.sent : undefined)
    this.record(running, charge, result, answer.status)
  }

  private async extended(
    result: SettlementResult,
    end: HandlerEnd,
    { resourceUrl, payer }: VerifiedPayment,
  ): Promise<SettlementResult> {
    const { responseExtensions } = this.options
    const delivered = end.kind === 'answered' && end.status < 400 && result.outcome === 'settled'
    if (responseExtensions === undefined || !delivered) return result
    const { network, transaction } = result.receipt
    try {
      const extensions = await responseExtensions({ resourceUrl, payer, network, transaction })
      return { ...result, receipt: { ...result.receipt, extensions } }
    } catch (error) {
      this.logger.error({ message: 'responseExtensions rejected', error: String(error) })
      return result
    }
  }

  /** @returns the status that went out, and the whole answer where it is the handler's own */
  private answer(
    running: RunningRequest,
    end: HandlerEnd,
    charge: Charge,
    { outcome, receipt }: SettlementResult,
  ): { status: number; sent?: SentAnswer | undefined } {
    const { held, payment } = running
    const headers = {
      'PAYMENT-RESPONSE': encodePaymentResponseHeader(receipt),
      'Cache-Control': withPrivateCacheControl(held.getHeader('Cache-Control') ?? null),
    }
    const instead = (status: number, error: string, message: string) => {
      running.answerInstead({
        status,
        headers: { ...headers, 'Cache-Control': 'no-store', 'Content-Type': 'application/json; charset=utf-8' },
        body: JSON.stringify({ error, message }),
      })
      return { status }
    }
    const charged = charge.amount === 0n ? 'Nothing was charged.' : `${payment.describe(charge.amount)} was charged.`
    if (end.kind === 'timeout') return instead(504, 'handler_timeout', `The handler took too long. ${charged}`)
    if (charge.refused) {
      return instead(
        500,
        'invalid_settlement_amount',
        'The seller set an amount that can not be charged. Nothing was charged.',
      )
    }
    const failed = end.kind === 'answered' && end.status >= 400
    if (outcome === 'failed' && !failed) {
      return instead(
        402,
        receipt.errorReason ?? 'settlement_failed',
        'The payment could not be settled. Nothing was charged.',
      )
    }
    const { fault } = held
    if (fault !== undefined) {
      this.logger.error({ message: 'the seller’s answer can not be sent', route: payment.route, fault })
      return instead(500, 'unsendable_answer', `The seller's answer can not be sent. ${charged}`)
    }
    const { status } = held
    return { status, sent: held.release(headers) }
  }

  private record(
    { route, payment }: RunningRequest,
    charge: Charge,
    { outcome, receipt }: SettlementResult,
    status: number,
  ): void {
    const record = {
      route: route.name,
      payer: payment.payer,
      network: payment.requirements.network,
      asset: payment.requirements.asset,
      amount: charge.amount,
      maximum: payment.maximum,
      reason: charge.reason,
      outcome,
      ...(outcome === 'failed' && receipt.errorReason !== undefined ? { failure: receipt.errorReason } : {}),
      ...(receipt.transaction === '' ? {} : { transaction: receipt.transaction }),
      status,
    }
    try {
      this.options.onPayment?.(record)
    } catch (error) {
      this.logger.error({ message: 'onPayment threw', route: route.name, error: String(error) })
    }
  }
}

/** Core's `Settlement-Overrides: {"amount": "…"}`. One that says no amount counts as unset, one that is broken as invalid. */
function amountOfHeader(header: string | undefined): unknown {
  if (header === undefined) return undefined
  try {
    const overrides: unknown = JSON.parse(header)
    return typeof overrides === 'object' && overrides !== null && 'amount' in overrides
      ? (overrides.amount ?? undefined)
      : undefined
  } catch {
    return header
  }
}

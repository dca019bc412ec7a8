import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common'
import { encodePaymentResponseHeader } from '@x402/core/http'
import { withPrivateCacheControl } from '@x402/core/server'
import type { SettleResponse } from '@x402/core/types'
import type { VerifiedPayment } from '../admit/admission.js'
import { type AnswerPlace, AnswerStore, type WithheldAnswer } from '../hold/answer-store.js'
import type { HeldResponse } from '../hold/held-response.js'
import { type HttpAnswer, jsonAnswer } from '../hold/http-answer.js'
import { ConfiguredFacilitator } from '../routes/facilitator.js'
import type { CompiledRoute } from '../routes/paid-routes.js'
import { PAID_ROUTES_OPTIONS, type PaidRoutesOptions } from '../routes/paid-routes-options.js'
import { readAnswerRecord, writeAnswerRecord } from './answer-record.js'
import { type Charge, decideCharge } from './charge.js'
import { type HandlerEnd, handlerEnd } from './handler-end.js'
import type { PaidRequest } from './paid-request.js'
import { type SettlementResult, Settler } from './settler.js'

/** An admitted request, whose handler may run. */
export interface RunningRequest {
  route: CompiledRoute
  verified: VerifiedPayment
  payment: PaidRequest
  /** Where its answer is kept. */
  place: AnswerPlace
  held: HeldResponse
  response: ServerResponse
  /** The result of settling before the handler ran, if the offer is paid up front. */
  upfront: SettlementResult | undefined
  answerInstead(answer: HttpAnswer): void
}

/** Pause between two `settle` calls for an upfront payment, or for an answer that can't be kept. */
const PAUSE_MS = 500
/** Retry-After for a withheld answer. Each retry itself waits for the payment. */
const RETRY_AFTER_SECONDS = 2
/** How long a withheld answer is kept after the authorization's deadline: the last possible block may be late. */
const AFTER_DEADLINE_MS = 60_000

/** Completes a paid request: waits for the handler, decides the charge, settles it and sends the answer. */
@Injectable()
export class Completion implements OnApplicationShutdown {
  private readonly underWay = new Set<Promise<void>>()
  private readonly logger = new Logger('PaidRoutes')
  private ending = false

  constructor(
    @Inject(PAID_ROUTES_OPTIONS) private readonly options: PaidRoutesOptions,
    private readonly settler: Settler,
    private readonly answers: AnswerStore,
    private readonly facilitator: ConfiguredFacilitator,
  ) {}

  begin(running: RunningRequest): void {
    const work = this.complete(running)
      .catch((error: unknown) => {
        this.logger.error({
          message: 'a paid answer could not be sent',
          route: running.route.name,
          error: String(error),
        })
        running.place.fill(undefined)
        running.response.destroy()
      })
      .finally(() => this.underWay.delete(work))
    this.underWay.add(work)
  }

  /**
   * Finds the answer to an already used payment that another process of this seller withheld, or whose client left it, and returns what the
   * buyer gets now. `conflict` if the payment was used for another request; undefined if no answer is kept.
   */
  async recall(route: CompiledRoute, verified: VerifiedPayment): Promise<HttpAnswer | 'conflict' | undefined> {
    const text = await this.facilitator.findAnswer(verified.payload)
    const record = text === undefined ? undefined : await readAnswerRecord(text)
    if (record?.payload !== verified.answerKey.payload) return undefined
    if (record.request !== verified.answerKey.request) return 'conflict'
    const { answer, charge } = record
    const end: HandlerEnd = { kind: 'answered', status: answer.status }
    const settle = async () => {
      const result = await this.settler.settle(verified, { ...charge, refused: false })
      return this.extended(result, end, verified)
    }
    return withheld(answer, route, 0, settle).ask()
  }

  /** Waits for charges under way. A client that left has no open connection, but its charge may not be stored yet. */
  async onApplicationShutdown(): Promise<void> {
    this.ending = true
    await Promise.all(this.underWay)
  }

  private async complete(running: RunningRequest): Promise<void> {
    const { route, verified, payment, place, held } = running
    const end = await handlerEnd(running, route.settings.timeout)
    const { scheme } = payment.requirements
    const terms = { scheme, maximum: payment.maximum, decimals: payment.decimals, policy: route.settings.charge }
    const overrides = held.takeHeader('Settlement-Overrides')
    const set = payment.closeAmount() ?? parseSettlementOverrides(overrides)
    const { upfront } = running
    const charge = upfront === undefined ? decideCharge(end, set, terms) : fullPriceCharge(payment)
    if (charge.fault !== undefined) {
      this.logger.error({ message: 'the seller set an invalid amount', route: route.name, fault: charge.fault })
    }
    const settle = async () => {
      const result = upfront ?? (await this.settler.settle(verified, charge))
      return this.extended(result, end, verified)
    }
    // A sold answer that can't be kept, because it is still streaming or there is no room for it, waits for its payment.
    let isReserved = false
    const mayEnd = () => {
      isReserved = isSold(end, charge) && held.ended && place.reserve(held.bytes)
      return isReserved || !isSold(end, charge)
    }
    const result = await this.settleUntilDecided(running, settle, mayEnd)
    const answer = await this.answer(running, end, charge, result, settle, isReserved)
    // A client that left before the handler answered paid for partial work, so it can't fetch the answer.
    place.fill(end.kind === 'answered' ? answer.sent : undefined)
    this.record(running, charge, result, answer.status)
  }

  /**
   * Settles a payment before its handler runs, and waits for the outcome, at most until the authorization's deadline. Returns an `answer`
   * if the handler must not run.
   */
  async settleUpfront(
    route: CompiledRoute,
    verified: VerifiedPayment,
    payment: PaidRequest,
    response: ServerResponse,
  ): Promise<{ answer: HttpAnswer } | { upfront: SettlementResult }> {
    const charge = fullPriceCharge(payment)
    const result = await this.settleUntilDecided({ route, verified, response }, () =>
      this.settler.settle(verified, charge),
    )
    const isUnpaid = result.outcome === 'failed' || isWithheld(route, result)
    return isUnpaid ? { answer: unpaidAnswer(result, false) } : { upfront: result }
  }

  /** Settles, and repeats until the outcome is decided, `mayEnd`, the client leaves or the authorization expires. */
  private async settleUntilDecided(
    { route, verified, response }: Pick<RunningRequest, 'route' | 'verified' | 'response'>,
    settle: () => Promise<SettlementResult>,
    mayEnd = () => false,
  ): Promise<SettlementResult> {
    let result = await settle()
    while (isWithheld(route, result) && !mayEnd()) {
      if (this.ending || response.closed || Date.now() > Number(verified.deadline) * 1000) break
      await sleep(PAUSE_MS)
      result = await settle()
    }
    return result
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

  /** @returns the status sent and, if the answer is the handler's own (sent or withheld), the whole answer */
  private async answer(
    running: RunningRequest,
    end: HandlerEnd,
    charge: Charge,
    result: SettlementResult,
    settle: () => Promise<SettlementResult>,
    isReserved: boolean,
  ): Promise<{ status: number; sent?: HttpAnswer | WithheldAnswer | undefined }> {
    const { held, payment, route, verified } = running
    const { receipt } = result
    const headers = {
      'PAYMENT-RESPONSE': encodePaymentResponseHeader(receipt),
      'Cache-Control': withPrivateCacheControl(held.getHeader('Cache-Control') ?? null),
    }
    const instead = (status: number, error: string, message: string) => {
      running.answerInstead(errorAnswer(status, receipt, error, message))
      return { status }
    }
    const charged = charge.amount === 0n ? 'Nothing was charged.' : `${payment.describe(charge.amount)} was charged.`
    if (end.kind === 'timeout') return instead(504, 'handler_timeout', `The handler took too long. ${charged}`)
    if (charge.refused) {
      return instead(
        500,
        'invalid_settlement_amount',
        'The seller set an amount that cannot be charged. Nothing was charged.',
      )
    }
    if (isSold(end, charge) && (result.outcome === 'failed' || isWithheld(route, result))) {
      const copy = isWithheld(route, result) ? held.copy(headers) : undefined
      const answer = unpaidAnswer(result, isReserved)
      const until = Number(verified.deadline) * 1000 + AFTER_DEADLINE_MS
      // Must happen before the buyer is answered: its retry may reach another process.
      if (copy !== undefined) await this.share(verified, charge, copy, until)
      running.answerInstead(answer)
      return { status: answer.status, sent: isReserved && copy ? withheld(copy, route, until, settle) : undefined }
    }
    const { fault } = held
    if (fault !== undefined) {
      this.logger.error({ message: 'the seller’s answer cannot be sent', route: payment.route, fault })
      return instead(500, 'unsendable_answer', `The seller's answer cannot be sent. ${charged}`)
    }
    const { status } = held
    const isLost = running.response.closed && isSold(end, charge)
    const sent = held.release(headers)
    if (isLost && sent !== undefined) await this.share(verified, charge, sent, Date.now() + this.answers.seconds * 1000)
    return { status, sent }
  }

  private async share(verified: VerifiedPayment, charge: Charge, answer: HttpAnswer, until: number): Promise<void> {
    if (this.answers.seconds === 0) return
    const { payload, request } = verified.answerKey
    const seconds = Math.max(Math.ceil((until - Date.now()) / 1000), this.answers.seconds)
    const record = await writeAnswerRecord({ payload, request, charge, answer })
    await this.facilitator.keepAnswer(verified.payload, record, seconds)
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

function fullPriceCharge({ maximum: amount }: PaidRequest): Charge {
  return { amount, reason: 'price', refused: false }
}

/** Whether the answer is paid work. Errors, also for a time-out or a refused amount, are delivered whatever becomes of the payment. */
function isSold(end: HandlerEnd, { refused }: Charge): boolean {
  return end.kind === 'partial' || (end.kind === 'answered' && end.status < 400 && !refused)
}

function isWithheld({ settings }: CompiledRoute, { outcome }: SettlementResult): boolean {
  return outcome === 'doubtful' || (outcome === 'pending' && settings.onPending === 'withhold')
}

/** Wraps an answer so that each `ask` checks the payment again until its outcome is decided. */
function withheld(
  answer: HttpAnswer,
  route: CompiledRoute,
  until: number,
  settle: () => Promise<SettlementResult>,
): WithheldAnswer {
  let asked: Promise<HttpAnswer> | undefined
  const ask = async () => {
    const result = await settle()
    if (isWithheld(route, result)) asked = undefined
    if (result.outcome === 'failed' || isWithheld(route, result)) return unpaidAnswer(result, true)
    const paid = { 'payment-response': encodePaymentResponseHeader(result.receipt) }
    return { ...answer, headers: { ...answer.headers, ...paid } }
  }
  return {
    until,
    ask: () => {
      asked ??= ask()
      return asked
    },
  }
}

/** @param isKept whether the same payment can fetch the answer later */
function unpaidAnswer({ outcome, receipt }: SettlementResult, isKept: boolean): HttpAnswer {
  if (outcome === 'failed') {
    const reason = receipt.errorReason ?? 'settlement_failed'
    return errorAnswer(402, receipt, reason, 'The payment could not be settled. Nothing was charged.')
  }
  const state =
    outcome === 'pending'
      ? 'The payment is charged but not on chain yet.'
      : 'The payment is charged but currently cannot be settled.'
  const next = isKept ? 'Repeat this request with the same payment to get the answer once it is settled.' : ''
  const { status, headers, body } = errorAnswer(402, receipt, receipt.errorReason ?? '', `${state} ${next}`.trim())
  return { status, headers: { ...headers, 'Retry-After': String(RETRY_AFTER_SECONDS) }, body }
}

function errorAnswer(status: number, receipt: SettleResponse, error: string, message: string): HttpAnswer {
  return jsonAnswer(status, { error, message }, { 'PAYMENT-RESPONSE': encodePaymentResponseHeader(receipt) })
}

/** Reads @x402/core's `Settlement-Overrides: {"amount": "…"}`. Without an amount it counts as unset; malformed JSON counts as invalid. */
function parseSettlementOverrides(header: string | undefined): unknown {
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

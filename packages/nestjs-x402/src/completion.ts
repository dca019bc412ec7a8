import type { ServerResponse } from 'node:http'
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common'
import { encodePaymentResponseHeader } from '@x402/core/http'
import { withPrivateCacheControl } from '@x402/core/server'
import type { Admitted } from './admission.js'
import { type Charge, decideCharge, type HandlerEnd } from './charge.js'
import { type Collected, Collections } from './collection.js'
import type { HeldResponse } from './held-response.js'
import type { PaidRequest } from './paid-request.js'
import { rememberDone } from './paid-requests.js'
import type { CompiledRoute } from './paid-routes.js'
import { PAID_ROUTES_OPTIONS, type PaidRoutesOptions } from './paid-routes-options.js'
import type { HttpAnswer } from './payment-required.js'

/** A request whose handler may run. */
export interface RunningRequest {
  route: CompiledRoute
  admitted: Admitted
  payment: PaidRequest
  held: HeldResponse
  response: ServerResponse
  answerInstead(answer: HttpAnswer): void
}

/** From the start of a paid handler to its answer: waits for its end, decides the charge, has it stored, lets it out. */
@Injectable()
export class Completions implements OnApplicationShutdown {
  readonly #underWay = new Set<Promise<void>>()
  readonly #logger = new Logger('PaidRoutes')

  constructor(
    @Inject(PAID_ROUTES_OPTIONS) private readonly options: PaidRoutesOptions,
    private readonly collections: Collections,
  ) {}

  begin(running: RunningRequest): void {
    const completion = this.#complete(running)
      .catch((error: unknown) => {
        this.#logger.error({
          message: 'a paid answer could not be sent',
          route: running.route.name,
          error: String(error),
        })
        running.response.destroy()
      })
      .finally(() => this.#underWay.delete(completion))
    this.#underWay.add(completion)
  }

  /** Nest's hook, once its server is closed: of clients that are gone no connection is left, but perhaps a charge. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  async #complete(running: RunningRequest): Promise<void> {
    const { route, admitted, payment, held } = running
    const end = await handlerEnd(running)
    const terms = { maximum: payment.maximum, decimals: payment.decimals, policy: route.settings.charge }
    const overrides = held.takeHeader('Settlement-Overrides')
    const charge = decideCharge(end, payment.closeAmount() ?? amountOfHeader(overrides), terms)
    if (charge.fault !== undefined) {
      this.#logger.error({ message: 'the seller set an invalid amount', route: route.name, fault: charge.fault })
    }
    const collected = await this.collections.collect(admitted, charge)
    const status = this.#answer(running, end, charge, collected)
    this.#record(running, charge, collected, status)
  }

  /** @returns the status that went out */
  #answer(running: RunningRequest, end: HandlerEnd, charge: Charge, { outcome, receipt }: Collected): number {
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
      return status
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
      this.#logger.error({ message: 'the seller’s answer can not be sent', route: payment.route, fault })
      return instead(500, 'unsendable_answer', `The seller's answer can not be sent. ${charged}`)
    }
    held.release(headers)
    return held.status
  }

  #record({ route, payment }: RunningRequest, charge: Charge, { outcome, receipt }: Collected, status: number): void {
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
      this.#logger.error({ message: 'onPayment threw', route: route.name, error: String(error) })
    }
  }
}

/** Waits for the handler's answer, its time-out, or, once the client is gone, for the handler to be done. */
function handlerEnd({ route, payment, held, response }: RunningRequest): Promise<HandlerEnd> {
  return new Promise((resolve) => {
    let gone = false
    let done = false
    let gaveUp = false
    const settle = (end: HandlerEnd) => {
      clearTimeout(timer)
      response.off('close', onGone)
      resolve(end)
    }
    const answered = (): HandlerEnd =>
      gone && (gaveUp || held.status < 400) ? { kind: 'partial' } : { kind: 'answered', status: held.status }
    const timer = setTimeout(() => {
      payment.abort('the time-out of the paid route has passed')
      settle({ kind: 'timeout' })
    }, route.settings.timeout)
    const leave = () => {
      // What the handler did is known to the response a moment after it is known to us, if it is answered at all.
      if (gone && done) setImmediate(() => settle(held.ended ? answered() : { kind: 'partial' }))
    }
    const onGone = () => {
      gone = true
      payment.abort('the client is gone')
      leave()
    }
    response.once('close', onGone)
    rememberDone(response, (becauseOfSignal) => {
      done = true
      gaveUp = becauseOfSignal
      leave()
    })
    held.end.then((end) => settle(end === 'cut' ? { kind: 'partial' } : answered()))
  })
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

import { randomUUID } from 'node:crypto'
import { type AuthorizeRequest, type ChargeResult, decodeNetwork, isFinal, type Payment } from '@upfront/protocol'
import type { FacilitatorClient } from '@x402/core/server'
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '@x402/core/types'
import { BillingClient, type CallTimes } from './billing-client.js'
import { BillingUnavailable } from './billing-error.js'
import { type Log, Pursuits } from './pursuits.js'
import { type AuthorizationId, authorizationOf, Reservations } from './reservations.js'
import { supportedResponse } from './supported-response.js'

export interface BillingFacilitatorOptions {
  /** Where billing listens, such as `http://127.0.0.1:8081`. */
  url: string
  /** Its service token. */
  token: string
  /** How long a buyer waits for its payment to be mined, in milliseconds, before it is said to be pending. Default 10,000. */
  receiptWait?: number
  /** How long a buyer waits for a billing that does not answer a charge, in milliseconds. Default 5,000. */
  acknowledgementWait?: number
  /** Where to say what goes on in the background. Silent by default. */
  log?: Log
}

/** Verifying reads the chain; past this, the buyer is better served by a 503. */
const VERIFY: CallTimes = { attempt: 5_000, repeat: 2_000 }
const READ: CallTimes = { attempt: 2_000, repeat: 1_000 }
/** What billing may take beyond the wait for the receipt that it was asked for. */
const CHARGE_SLACK = 3_000
/** An answer that failed does not wait long for its payment to be given up: that is done in the background as well. */
const RELEASE: CallTimes = { attempt: 2_000, repeat: 500, insistent: true }
const PURSUE: CallTimes = { attempt: 5_000, repeat: 0, insistent: true }
const CLOSE_AFTER = 5_000

/**
 * x402's `FacilitatorClient` over billing's internal HTTP contract. `verify` reserves, `settle` charges, `release` gives
 * up; every call is repeated under one idempotency key until it is answered, so a lost answer is looked up, not guessed.
 */
export class BillingFacilitator implements FacilitatorClient {
  readonly #billing: BillingClient
  readonly #reservations = new Reservations()
  readonly #pursuits: Pursuits
  readonly #receiptWait: number
  readonly #acknowledgementWait: number
  readonly #log: Log

  constructor({
    url,
    token,
    receiptWait = 10_000,
    acknowledgementWait = 5_000,
    log = () => undefined,
  }: BillingFacilitatorOptions) {
    this.#billing = new BillingClient({ url, token })
    this.#receiptWait = receiptWait
    this.#acknowledgementWait = acknowledgementWait
    this.#log = log
    this.#pursuits = new Pursuits(log)
  }

  /** Charges and releases that billing has not acknowledged yet. */
  get unacknowledged(): number {
    return this.#pursuits.size
  }

  /** @throws BillingUnavailable with `retryAfterSeconds` */
  async getSupported(): Promise<SupportedResponse> {
    return supportedResponse(await this.#billing.supported(READ))
  }

  /** Undefined where billing does not know the token. */
  async describeAsset(network: string, asset: string) {
    const token = await this.#billing.token(decodeNetwork(network, 'network'), asset, READ)
    return token === undefined ? undefined : { decimals: token.decimals, name: token.name, version: token.version }
  }

  /**
   * Verifies and reserves. Each call has a key of its own: the same authorization in a second call is refused.
   * @throws BillingUnavailable, BillingRejected: then nothing may be run for this payment
   */
  async verify(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    terms: { route?: string; handlerSeconds?: number } = {},
  ): Promise<VerifyResponse> {
    const authorization = authorizationOf(payload)
    const { payer } = authorization
    const request: AuthorizeRequest = {
      paymentPayload: payload,
      paymentRequirements: requirements,
      route: terms.route ?? null,
      minimumValiditySeconds: terms.handlerSeconds ?? 0,
    }
    const key = `authorize-${randomUUID()}`
    try {
      const result = await this.#billing.authorize(request, key, VERIFY)
      if (result.outcome === 'refused') {
        return { isValid: false, invalidReason: result.reason, invalidMessage: result.message, payer }
      }
      this.#reservations.add(authorization, result.payment.id)
      return { isValid: true, payer }
    } catch (error) {
      if (error instanceof BillingUnavailable && error.arrived) this.#abandon(request, key, authorization)
      throw error
    }
  }

  /**
   * Charges `requirements.amount`. Answered when the charge is stored: settled, failed, or `settlement_pending`. Pending
   * too where billing could not be reached in time; then it goes on in the background until the authorization's deadline.
   */
  async settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    terms: { reason?: string } = {},
  ): Promise<SettleResponse> {
    const authorization = authorizationOf(payload)
    const { payer, network } = authorization
    const receipt = { network, payer, amount: requirements.amount, transaction: '' }
    let paymentId = this.#reservations.take(authorization)
    const charge = async (times: CallTimes, waitMilliseconds: number): Promise<ChargeResult | undefined> => {
      paymentId ??= await this.#findPaymentId(authorization, times)
      if (paymentId === undefined) return undefined
      const amount = BigInt(requirements.amount)
      const reason = terms.reason ?? 'usage'
      return this.#billing.charge(paymentId, { amount, reason, waitMilliseconds }, `charge-${paymentId}`, times)
    }
    const times = {
      attempt: this.#receiptWait + CHARGE_SLACK,
      repeat: this.#acknowledgementWait,
      insistent: true,
    }
    try {
      const result = await charge(times, this.#receiptWait)
      if (result === undefined) return { ...receipt, success: false, errorReason: 'payment_not_authorized' }
      if (result.outcome === 'refused') return { ...receipt, success: false, errorReason: result.reason }
      return { ...receipt, ...outcomeOf(result.payment) }
    } catch (error) {
      if (!(error instanceof BillingUnavailable)) throw error
      const fields = { payer, network, nonce: authorization.nonce.toString(), amount: requirements.amount }
      this.#pursuits.begin('a charge', fields, authorization.deadline, async () => {
        const result = await charge(PURSUE, 0)
        if (result?.outcome === 'done') return
        this.#log('error', 'a charge was refused after its answer had gone out', { ...fields, reason: result?.reason })
      })
      return { ...receipt, success: false, errorReason: 'settlement_pending' }
    }
  }

  /** Gives a reservation up. What can't be said now is said in the background, so this does not reject. */
  async release(payload: PaymentPayload, _requirements: PaymentRequirements, reason: string): Promise<void> {
    const authorization = authorizationOf(payload)
    let paymentId = this.#reservations.take(authorization)
    const release = async (times: CallTimes): Promise<void> => {
      paymentId ??= await this.#findPaymentId(authorization, times)
      if (paymentId === undefined) return
      await this.#billing.release(paymentId, { reason }, `release-${paymentId}`, times)
    }
    try {
      await release(RELEASE)
    } catch (error) {
      if (!(error instanceof BillingUnavailable)) throw error
      const { payer, nonce, deadline } = authorization
      this.#pursuits.begin('a release', { payer, nonce: nonce.toString(), reason }, deadline, () => release(PURSUE))
    }
  }

  /** Waits for what billing has not acknowledged, five seconds at most. */
  async close(milliseconds = CLOSE_AFTER): Promise<void> {
    await this.#pursuits.close(milliseconds)
    await this.#billing.close()
  }

  /** The reservation that a lost answer may have left: finds out under the same key, and gives it up. */
  #abandon(request: AuthorizeRequest, key: string, authorization: AuthorizationId): void {
    const fields = { payer: authorization.payer, nonce: authorization.nonce.toString() }
    this.#pursuits.begin('an abandoned authorization', fields, authorization.deadline, async () => {
      const result = await this.#billing.authorize(request, key, PURSUE)
      if (result.outcome === 'refused' || isFinal(result.payment.state)) return
      const { id } = result.payment
      await this.#billing.release(id, { reason: 'abandoned' }, `release-${id}`, PURSUE)
    })
  }

  /** Of a reservation that an earlier life of this process made. */
  async #findPaymentId(authorization: AuthorizationId, times: CallTimes): Promise<string | undefined> {
    const { network, payer, nonce } = authorization
    return (await this.#billing.findPayment(network, payer, nonce, times))?.id
  }
}

function outcomeOf({ state, transaction, blockNumber, reason }: Payment) {
  const hash = transaction ?? ''
  const mined = state === 'settled' || (state === 'submitted' && blockNumber !== null)
  if (mined || state === 'zero') return { success: true, transaction: state === 'zero' ? '' : hash }
  if (state === 'failed') return { success: false, transaction: hash, errorReason: reason ?? 'settlement_failed' }
  return { success: false, transaction: hash, errorReason: 'settlement_pending' }
}

import { randomUUID } from 'node:crypto'
import {
  type AuthorizeRequest,
  type ChargeResult,
  decodeNetwork,
  MAX_ANSWER_CHARACTERS,
  type Network,
  type Payment,
  RefusalReason,
  standingOf,
} from '@upfront/protocol'
import type { FacilitatorClient } from '@x402/core/server'
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '@x402/core/types'
import { type AuthorizationId, authorizationOf, keyOf } from './authorization-id.js'
import { BillingClient, type CallTimes } from './billing-client.js'
import { BillingUnavailable, isTransient } from './billing-error.js'
import type { ChargeJournal, JournaledCharge } from './charge-journal.js'
import { decodeSupportedResponse } from './decode-supported-response.js'
import { type Log, Retries } from './retries.js'
import { UnansweredVerifications } from './unanswered-verifications.js'

export interface BillingFacilitatorOptions {
  /** Base URL of billing, such as `http://127.0.0.1:8081`. */
  url: string
  /** Billing's service token. */
  token: string
  /**
   * Stores charges until billing acknowledges them. Charges left by an earlier process are retried at once. Without a journal they are kept
   * in memory only and lost when the process ends.
   */
  journal?: ChargeJournal
  /**
   * How long a buyer waits for its payment to be mined, in milliseconds, before it is told that the payment is pending. Default 10,000:
   * longer than the block time of most chains.
   */
  receiptWait?: number
  /** How long a buyer waits while billing does not answer a charge, in milliseconds. Default 5,000. */
  acknowledgementWait?: number
  /** Logs background work. Silent by default. */
  log?: Log
}

/** Verification reads the chain. If it takes longer than this, the buyer is better served by a 503. */
const VERIFY: CallTimes = { attempt: 5_000, repeat: 2_000 }
const READ: CallTimes = { attempt: 2_000, repeat: 1_000 }
/** Time that billing may take beyond its wait for the receipt, in milliseconds. */
const CHARGE_SLACK = 3_000
/** An answer for a failed request does not wait long for the release: releases are retried in the background. */
const RELEASE: CallTimes = { attempt: 2_000, repeat: 500, insistent: true }
const RETRY: CallTimes = { attempt: 5_000, repeat: 0, insistent: true }
const CLOSE_AFTER = 5_000

/**
 * x402's `FacilitatorClient` over billing's internal HTTP API. `verify` reserves, `settle` charges, `release` cancels. Every call is
 * retried under one idempotency key until it is answered, so a lost answer is looked up, not guessed.
 */
export class BillingFacilitator implements FacilitatorClient {
  readonly #billing: BillingClient
  /** Ids of payments verified here, by authorization, until they are charged or released. */
  readonly #paymentIds = new Map<string, string>()
  readonly #unanswered = new UnansweredVerifications()
  readonly #retries: Retries
  readonly #journal: ChargeJournal | undefined
  /** Resolves when the charges left by an earlier process are queued for retry. */
  readonly #resumed: Promise<void>
  readonly #receiptWait: number
  readonly #acknowledgementWait: number
  readonly #log: Log

  constructor({
    url,
    token,
    receiptWait = 10_000,
    acknowledgementWait = 5_000,
    journal,
    log = () => undefined,
  }: BillingFacilitatorOptions) {
    this.#billing = new BillingClient({ url, token })
    this.#receiptWait = receiptWait
    this.#acknowledgementWait = acknowledgementWait
    this.#log = log
    this.#retries = new Retries(log)
    this.#journal = journal
    this.#resumed = this.#resume()
  }

  /** Number of charges and releases that billing has not acknowledged yet. */
  get unacknowledged(): number {
    return this.#retries.size
  }

  /** @throws BillingUnavailable or BillingRejected if no payment can be taken, for example because of a dead URL or a wrong token */
  async check(): Promise<void> {
    await this.#billing.supported(READ)
    await this.#billing.checkToken(READ)
  }

  /** @throws BillingUnavailable with `retryAfterSeconds` */
  async getSupported(): Promise<SupportedResponse> {
    return decodeSupportedResponse(await this.#billing.supported(READ))
  }

  /** Block time and settlement wait of a network, in seconds; undefined if billing does not know them. @throws BillingUnavailable */
  async settlementTimes(network: string): Promise<{ blockSeconds: number; waitSeconds: number } | undefined> {
    const { kinds } = await this.getSupported()
    const blockSeconds = kinds.find((kind) => kind.network === network)?.extra?.blockSeconds
    if (typeof blockSeconds !== 'number') return undefined
    return { blockSeconds, waitSeconds: this.#receiptWait / 1000 }
  }

  /** Returns the payment made with a payer's authorization, or undefined if there is none. @throws BillingUnavailable */
  async findPayment(network: Network, payer: string, nonce: bigint): Promise<Payment | undefined> {
    return this.#billing.findPayment(network, payer, nonce, READ)
  }

  /** Returns undefined if billing does not know the token. */
  async describeAsset(network: string, asset: string) {
    const token = await this.#billing.token(decodeNetwork(network, 'network'), asset, READ)
    return token === undefined ? undefined : { decimals: token.decimals, name: token.name, version: token.version }
  }

  /**
   * Verifies and reserves. Each call uses a new idempotency key, so a second use of an authorization is refused. If a call got no answer,
   * the next call with the same arguments reuses its key and gets the first call's result.
   * @throws BillingUnavailable, BillingRejected: nothing may be run for this payment
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
    const earlier = this.#unanswered.take(request)
    const key = earlier ?? `authorize-${randomUUID()}`
    try {
      const result = await this.#billing.authorize(request, key, VERIFY)
      if (result.outcome === 'refused') {
        return { isValid: false, invalidReason: result.reason, invalidMessage: result.message, payer }
      }
      // The reservation under the earlier key may have ended in the meantime; it can't be charged then.
      const { id, state } = result.payment
      if (state !== 'authorized') {
        const invalidReason = state === 'expired' ? RefusalReason.deadlineExpired : RefusalReason.nonceUsed
        return { isValid: false, invalidReason, invalidMessage: `the reservation is ${state}`, payer }
      }
      this.#paymentIds.set(keyOf(authorization), id)
      return { isValid: true, payer }
    } catch (error) {
      const unanswered = error instanceof BillingUnavailable && (error.arrived || earlier !== undefined)
      if (unanswered) this.#unanswered.add(request, key, authorization.deadline)
      throw error
    }
  }

  /**
   * Charges `requirements.amount`. Resolves once the charge is stored: settled, failed, `settlement_doubtful` (the newest block says that
   * it can't be settled) or `settlement_pending`. If billing can't be reached in time, the result is also pending: the charge is in the
   * journal and is retried in the background until the authorization's deadline. Repeating the call charges nothing more, waits again and
   * returns the current outcome.
   */
  async settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    terms: { reason?: string } = {},
  ): Promise<SettleResponse> {
    const authorization = authorizationOf(payload)
    const { payer, network, nonce, deadline } = authorization
    const { amount } = requirements
    const charge = {
      network,
      payer,
      nonce: `${nonce}`,
      deadline: `${deadline}`,
      amount,
      reason: terms.reason ?? 'usage',
    }
    const paymentId = this.#takePaymentId(authorization)
    const receipt = { network, payer, amount, transaction: '' }
    const times = {
      attempt: this.#receiptWait + CHARGE_SLACK,
      repeat: this.#acknowledgementWait,
      insistent: true,
    }
    try {
      const result = await this.#charge(charge, paymentId, times, this.#receiptWait)
      if (result === undefined) return { ...receipt, success: false, errorReason: 'payment_not_authorized' }
      if (result.outcome === 'refused') return { ...receipt, success: false, errorReason: result.reason }
      return { ...receipt, ...outcomeOf(result.payment) }
    } catch (error) {
      if (!isTransient(error)) throw error
      await this.#journal?.add(charge).catch((failure: unknown) => {
        const fields = { ...charge, error: String(failure) }
        this.#log('error', 'a charge could not be written to the journal: the end of this process loses it', fields)
      })
      this.#repeatCharge(charge, paymentId)
      return { ...receipt, success: false, errorReason: 'settlement_pending' }
    }
  }

  /** Cancels a reservation. If billing can't be reached, resolves and retries in the background. @throws BillingRejected if it refuses */
  async release(payload: PaymentPayload, _requirements: PaymentRequirements, reason: string): Promise<void> {
    const authorization = authorizationOf(payload)
    let paymentId = this.#takePaymentId(authorization)
    const release = async (times: CallTimes): Promise<void> => {
      paymentId ??= await this.#findPaymentId(authorization, times)
      if (paymentId === undefined) return
      await this.#billing.release(paymentId, { reason }, `release-${paymentId}`, times)
    }
    try {
      await release(RELEASE)
    } catch (error) {
      if (!isTransient(error)) throw error
      const { payer, nonce, deadline } = authorization
      const fields = { payer, nonce: nonce.toString(), reason }
      this.#retries.begin({
        key: `release ${keyOf(authorization)}`,
        what: 'a release',
        fields,
        deadline,
        attempt: () => release(RETRY),
      })
    }
  }

  /** Stores an answer in the ledger. Returns false if it is too long or billing keeps too many. @throws BillingUnavailable */
  async keepAnswer(payload: PaymentPayload, answer: string, seconds: number): Promise<boolean> {
    if (answer.length > MAX_ANSWER_CHARACTERS) return false
    const id = await this.#findPaymentId(authorizationOf(payload), READ)
    return id !== undefined && this.#billing.keepAnswer(id, { answer, seconds }, READ)
  }

  /** Returns the answer that `keepAnswer` stored, from any process. @throws BillingUnavailable */
  async findAnswer(payload: PaymentPayload): Promise<string | undefined> {
    const id = await this.#findPaymentId(authorizationOf(payload), READ)
    return id === undefined ? undefined : this.#billing.findAnswer(id, READ)
  }

  /** Waits up to five seconds (by default) for billing to acknowledge open calls. The rest stays in the journal. */
  async close(milliseconds = CLOSE_AFTER): Promise<void> {
    await this.#resumed
    await this.#retries.close(milliseconds)
    await this.#billing.close()
  }

  async #resume(): Promise<void> {
    try {
      for (const charge of (await this.#journal?.list()) ?? []) this.#repeatCharge(charge, undefined)
    } catch (error) {
      this.#log('error', 'could not resume the charges in the journal', { error: String(error) })
    }
  }

  #repeatCharge(charge: JournaledCharge, paymentId: string | undefined): void {
    this.#retries.begin({
      key: `charge ${charge.network} ${charge.payer} ${charge.nonce}`,
      what: 'a charge',
      fields: { ...charge },
      deadline: BigInt(charge.deadline),
      attempt: async () => {
        const result = await this.#charge(charge, paymentId, RETRY, 0)
        if (result?.outcome === 'done') return
        const reason = result?.reason ?? 'payment_not_authorized'
        this.#log('error', 'a charge was refused after its answer was sent', { ...charge, refusal: reason })
      },
      ...(this.#journal === undefined ? {} : { done: () => this.#removeFromJournal(charge) }),
    })
  }

  async #removeFromJournal(charge: JournaledCharge): Promise<void> {
    try {
      await this.#journal?.remove(charge)
    } catch (error) {
      this.#log('warn', 'could not remove a charge from the journal', { ...charge, error: String(error) })
    }
  }

  /** Returns undefined if billing has no payment for this authorization. */
  async #charge(
    { network, payer, nonce, amount, reason }: JournaledCharge,
    knownId: string | undefined,
    times: CallTimes,
    waitMilliseconds: number,
  ): Promise<ChargeResult | undefined> {
    const id =
      knownId ??
      (await this.#findPaymentId({ network: decodeNetwork(network, 'network'), payer, nonce: BigInt(nonce) }, times))
    if (id === undefined) return undefined
    return this.#billing.charge(id, { amount: BigInt(amount), reason, waitMilliseconds }, `charge-${id}`, times)
  }

  #takePaymentId(authorization: AuthorizationId): string | undefined {
    const key = keyOf(authorization)
    const paymentId = this.#paymentIds.get(key)
    this.#paymentIds.delete(key)
    return paymentId
  }

  /** Finds the reservation that an earlier process made. */
  async #findPaymentId(
    { network, payer, nonce }: Omit<AuthorizationId, 'deadline'>,
    times: CallTimes,
  ): Promise<string | undefined> {
    return (await this.#billing.findPayment(network, payer, nonce, times))?.id
  }
}

function outcomeOf(payment: Payment) {
  const { state, reason } = payment
  const transaction = state === 'zero' ? '' : (payment.transaction ?? '')
  switch (standingOf(payment)) {
    case 'settled':
      return { success: true, transaction }
    case 'failed':
      return { success: false, transaction, errorReason: reason ?? 'settlement_failed' }
    case 'doubtful':
      return { success: false, transaction, errorReason: RefusalReason.settlementDoubtful }
    case 'pending':
      return { success: false, transaction, errorReason: RefusalReason.settlementPending }
  }
}

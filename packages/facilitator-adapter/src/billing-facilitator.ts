import { randomUUID } from 'node:crypto'
import {
  type AuthorizeRequest,
  type ChargeResult,
  decodeNetwork,
  MOST_ANSWER_CHARACTERS,
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
import { BillingUnavailable, isPassing } from './billing-error.js'
import type { ChargeJournal, JournaledCharge } from './charge-journal.js'
import { type Log, Retries } from './retries.js'
import { supportedResponse } from './supported-response.js'
import { UnansweredVerifications } from './unanswered-verifications.js'

export interface BillingFacilitatorOptions {
  /** Where billing listens, such as `http://127.0.0.1:8081`. */
  url: string
  /** Its service token. */
  token: string
  /**
   * Where charges are kept that billing has not acknowledged, until it has: what an earlier process left is taken up at
   * once. Without it they live in this process only, and its end loses them.
   */
  journal?: ChargeJournal
  /**
   * How long a buyer waits for its payment to be mined, in milliseconds, before it is told that it is pending. Default 10,000: more
   * than a block of most chains.
   */
  receiptWait?: number
  /** How long a buyer waits for a billing that does not answer a charge, in milliseconds. Default 5,000. */
  acknowledgementWait?: number
  /** Logs what happens in the background. Silent by default. */
  log?: Log
}

/** Verifying reads the chain; after this time a 503 serves the buyer better. */
const VERIFY: CallTimes = { attempt: 5_000, repeat: 2_000 }
const READ: CallTimes = { attempt: 2_000, repeat: 1_000 }
/** What billing may take beyond its wait for the receipt. */
const CHARGE_SLACK = 3_000
/** A failed answer does not wait long for its release, which is repeated in the background. */
const RELEASE: CallTimes = { attempt: 2_000, repeat: 500, insistent: true }
const RETRY: CallTimes = { attempt: 5_000, repeat: 0, insistent: true }
const CLOSE_AFTER = 5_000

/**
 * x402's `FacilitatorClient` over billing's internal HTTP contract. `verify` reserves, `settle` charges, `release` gives
 * up; every call is repeated under one idempotency key until it is answered, so a lost answer is looked up, not guessed.
 */
export class BillingFacilitator implements FacilitatorClient {
  readonly #billing: BillingClient
  /** The payments that were verified here, by their authorization, until their charge or release. */
  readonly #paymentIds = new Map<string, string>()
  readonly #unanswered = new UnansweredVerifications()
  readonly #retries: Retries
  readonly #journal: ChargeJournal | undefined
  /** The charges that an earlier process left are being repeated. */
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

  /** Charges and releases that billing has not acknowledged yet. */
  get unacknowledged(): number {
    return this.#retries.size
  }

  /** @throws BillingUnavailable or BillingRejected where no payment can be taken: a dead URL, a wrong token */
  async check(): Promise<void> {
    await this.#billing.supported(READ)
    await this.#billing.checkToken(READ)
  }

  /** @throws BillingUnavailable with `retryAfterSeconds` */
  async getSupported(): Promise<SupportedResponse> {
    return supportedResponse(await this.#billing.supported(READ))
  }

  /** How far apart the network's blocks are, and how long `settle` waits for one; undefined where billing does not know. @throws BillingUnavailable */
  async settlementTimes(network: string): Promise<{ blockSeconds: number; waitSeconds: number } | undefined> {
    const { kinds } = await this.getSupported()
    const blockSeconds = kinds.find((kind) => kind.network === network)?.extra?.blockSeconds
    if (typeof blockSeconds !== 'number') return undefined
    return { blockSeconds, waitSeconds: this.#receiptWait / 1000 }
  }

  /** What became of a payer's authorization; undefined where no payment was made with it. @throws BillingUnavailable */
  async findPayment(network: Network, payer: string, nonce: bigint): Promise<Payment | undefined> {
    return this.#billing.findPayment(network, payer, nonce, READ)
  }

  /** Undefined where billing does not know the token. */
  async describeAsset(network: string, asset: string) {
    const token = await this.#billing.token(decodeNetwork(network, 'network'), asset, READ)
    return token === undefined ? undefined : { decimals: token.decimals, name: token.name, version: token.version }
  }

  /**
   * Verifies and reserves, under a key of its own: the same authorization in a second call is refused. A call that was
   * not answered reserves nothing for good: the same call again goes under the same key, and gets the first one's result.
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
    const earlier = this.#unanswered.take(request)
    const key = earlier ?? `authorize-${randomUUID()}`
    try {
      const result = await this.#billing.authorize(request, key, VERIFY)
      if (result.outcome === 'refused') {
        return { isValid: false, invalidReason: result.reason, invalidMessage: result.message, payer }
      }
      // The first result under an earlier call's key may have ended meanwhile: nothing can be charged any more.
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
   * Charges `requirements.amount`. Answered when the charge is stored: settled, failed, `settlement_doubtful` (as of the newest block it
   * could not be settled), or `settlement_pending`. Pending too where billing could not be reached in time; then the charge is in the
   * journal, and is repeated in the background until the authorization's deadline. The same call again charges nothing more, waits, and
   * answers what became of it.
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
      if (!isPassing(error)) throw error
      await this.#journal?.add(charge).catch((failure: unknown) => {
        const fields = { ...charge, error: String(failure) }
        this.#log('error', 'a charge could not be written to the journal: the end of this process loses it', fields)
      })
      this.#repeatCharge(charge, paymentId)
      return { ...receipt, success: false, errorReason: 'settlement_pending' }
    }
  }

  /** Gives up a reservation. Where billing can't be reached, this goes on in the background and does not reject. */
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
      if (!isPassing(error)) throw error
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

  /** Keeps an answer beside its payment in the ledger. False where it is too long, or billing keeps too many. @throws BillingUnavailable */
  async keepAnswer(payload: PaymentPayload, answer: string, seconds: number): Promise<boolean> {
    if (answer.length > MOST_ANSWER_CHARACTERS) return false
    const id = await this.#findPaymentId(authorizationOf(payload), READ)
    return id !== undefined && this.#billing.keepAnswer(id, { answer, seconds }, READ)
  }

  /** What `keepAnswer` has kept, by any process. @throws BillingUnavailable */
  async findAnswer(payload: PaymentPayload): Promise<string | undefined> {
    const id = await this.#findPaymentId(authorizationOf(payload), READ)
    return id === undefined ? undefined : this.#billing.findAnswer(id, READ)
  }

  /** Waits for what billing has not acknowledged, five seconds at most; the rest is in the journal. */
  async close(milliseconds = CLOSE_AFTER): Promise<void> {
    await this.#resumed
    await this.#retries.close(milliseconds)
    await this.#billing.close()
  }

  async #resume(): Promise<void> {
    try {
      for (const charge of (await this.#journal?.list()) ?? []) this.#repeatCharge(charge, undefined)
    } catch (error) {
      this.#log('error', 'the charges in the journal can not be taken up', { error: String(error) })
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
        this.#log('error', 'a charge was refused after its answer had gone out', { ...charge, refusal: reason })
      },
      ...(this.#journal === undefined ? {} : { done: () => this.#forget(charge) }),
    })
  }

  async #forget(charge: JournaledCharge): Promise<void> {
    try {
      await this.#journal?.remove(charge)
    } catch (error) {
      this.#log('warn', 'a charge could not be taken out of the journal', { ...charge, error: String(error) })
    }
  }

  /** Undefined where billing knows no payment for this authorization. */
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

  /** Of a reservation that an earlier process made. */
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

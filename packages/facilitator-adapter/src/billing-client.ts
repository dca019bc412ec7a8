import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AuthorizeRequest,
  type AuthorizeResult,
  billingPath,
  type ChargeRequest,
  type ChargeResult,
  decodeAuthorizeResult,
  decodeBillingErrorBody,
  decodeChargeResult,
  decodeFoundAnswer,
  decodeObject,
  decodePayment,
  decodeToken,
  encodeChargeRequest,
  IDEMPOTENCY_KEY_HEADER,
  type KeptAnswer,
  type Network,
  type Payment,
  type ReleaseRequest,
  type Token,
} from '@upfront/protocol'
import { Agent, request } from 'undici'
import { BillingRejected, BillingUnavailable } from './billing-error.js'
import { CircuitBreaker } from './circuit-breaker.js'

export interface BillingClientOptions {
  url: string
  token: string
}

/** Time limits of a call, in milliseconds. */
export interface CallTimes {
  /** For each attempt. */
  attempt: number
  /** For how long a failed call is retried. */
  repeat: number
  /** Tries even while the circuit is open, for calls that must reach billing as soon as it is back. */
  insistent?: boolean
}

interface Call {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  body?: unknown
  /** Idempotency key. A POST without one can't be retried safely. */
  key?: string
}

const MAX_ANSWER_BYTES = 1024 * 1024
const FIRST_PAUSE = 50
const MAX_PAUSE = 1_000
const MIN_ATTEMPT = 250

/** Client of billing's internal HTTP API, one method per call. Each call is retried until it is answered or its time is up. */
export class BillingClient {
  readonly #url: string
  readonly #token: string
  readonly #agent = new Agent({ connections: 128, maxResponseSize: MAX_ANSWER_BYTES, keepAliveTimeout: 4_000 })
  readonly #breaker = new CircuitBreaker({ threshold: 5, shortest: 500, longest: 5_000 })

  constructor({ url, token }: BillingClientOptions) {
    this.#url = url.replace(/\/+$/, '')
    this.#token = token
  }

  async supported(times: CallTimes): Promise<unknown> {
    return this.#call({ method: 'GET', path: billingPath.supported }, times, (body) => body)
  }

  async authorize(body: AuthorizeRequest, key: string, times: CallTimes): Promise<AuthorizeResult> {
    return this.#call({ method: 'POST', path: billingPath.authorize, body, key }, times, decodeAuthorizeResult)
  }

  async charge(paymentId: string, charge: ChargeRequest, key: string, times: CallTimes): Promise<ChargeResult> {
    const body = encodeChargeRequest(charge)
    return this.#call({ method: 'POST', path: billingPath.charge(paymentId), body, key }, times, decodeChargeResult)
  }

  async release(paymentId: string, body: ReleaseRequest, key: string, times: CallTimes): Promise<ChargeResult> {
    return this.#call({ method: 'POST', path: billingPath.release(paymentId), body, key }, times, decodeChargeResult)
  }

  /** Returns the payment made with this authorization, or undefined if there is none. */
  async findPayment(network: Network, payer: string, nonce: bigint, times: CallTimes): Promise<Payment | undefined> {
    const path = billingPath.paymentByAuthorization(network, payer, nonce)
    return this.#find(path, times, (body) => decodePayment(decodeObject(body, 'body').payment))
  }

  /** Returns false if billing already keeps too many answers. */
  async keepAnswer(paymentId: string, body: KeptAnswer, times: CallTimes): Promise<boolean> {
    const call = { method: 'PUT', path: billingPath.answer(paymentId), body } as const
    return this.#call(call, times, (answer) => decodeObject(answer, 'body').kept === true)
  }

  /** Returns undefined if no answer is kept. */
  async findAnswer(paymentId: string, times: CallTimes): Promise<string | undefined> {
    return this.#find(billingPath.answer(paymentId), times, decodeFoundAnswer)
  }

  /** Requests a payment that does not exist. @throws BillingRejected if the token is wrong */
  async checkToken(times: CallTimes): Promise<void> {
    await this.#find(billingPath.payment('none'), times, () => undefined)
  }

  /** Returns undefined if billing is not configured for this token. */
  async token(network: Network, asset: string, times: CallTimes): Promise<Token | undefined> {
    return this.#find(billingPath.token(network, asset), times, decodeToken)
  }

  async close(): Promise<void> {
    await this.#agent.close()
  }

  async #find<T>(path: string, times: CallTimes, decode: (body: unknown) => T): Promise<T | undefined> {
    try {
      return await this.#call({ method: 'GET', path }, times, decode)
    } catch (error) {
      if (error instanceof BillingRejected && error.status === 404) return undefined
      throw error
    }
  }

  /** @throws BillingUnavailable, BillingRejected */
  async #call<T>(call: Call, times: CallTimes, decode: (body: unknown) => T): Promise<T> {
    let until = Number.POSITIVE_INFINITY
    let arrived = false
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, MAX_PAUSE)) {
      const wait = this.#breaker.admit()
      if (wait > 0 && times.insistent !== true) {
        throw new BillingUnavailable('billing has not been answering', Math.ceil(wait / 1000), arrived)
      }
      let answer: { value: T } | { failed: BillingUnavailable }
      try {
        answer = {
          value: await this.#attempt(call, Math.min(times.attempt, until - Date.now() + MIN_ATTEMPT), decode),
        }
      } catch (error) {
        if (!(error instanceof BillingUnavailable)) {
          this.#breaker.succeeded()
          throw error
        }
        answer = { failed: error }
      }
      if ('value' in answer) {
        this.#breaker.succeeded()
        return answer.value
      }
      this.#breaker.failed()
      until = Math.min(until, Date.now() + times.repeat)
      arrived ||= answer.failed.arrived
      // Jitter: replicas that lost the same billing must not all retry at once.
      const next = pause * (0.5 + Math.random())
      if (Date.now() + next >= until) {
        throw new BillingUnavailable(answer.failed.message, answer.failed.retryAfterSeconds, arrived)
      }
      await sleep(next)
    }
  }

  async #attempt<T>(call: Call, milliseconds: number, decode: (body: unknown) => T): Promise<T> {
    let status: number
    let text: string
    let retryAfter: number
    try {
      const response = await request(`${this.#url}${call.path}`, {
        dispatcher: this.#agent,
        method: call.method,
        signal: AbortSignal.timeout(milliseconds),
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(call.key === undefined ? {} : { [IDEMPOTENCY_KEY_HEADER]: call.key }),
        },
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      })
      status = response.statusCode
      retryAfter = Number(response.headers['retry-after'])
      text = await response.body.text()
    } catch (error) {
      const { code, message } = error as { code?: unknown; message: string }
      const arrived = code !== 'ECONNREFUSED' && code !== 'ENOTFOUND' && code !== 'EAI_AGAIN'
      throw new BillingUnavailable(`billing did not answer: ${String(code ?? message)}`, 1, arrived)
    }
    if (status === 429 || status >= 500) {
      throw new BillingUnavailable(`billing answered ${status}`, retryAfter > 0 ? retryAfter : 1, true)
    }
    let body: unknown
    try {
      body = JSON.parse(text)
      if (status >= 200 && status < 300) return decode(body)
    } catch (error) {
      throw new BillingUnavailable(
        `billing answered ${status} with a body that is no answer: ${String(error)}`,
        1,
        true,
      )
    }
    throw decodeRejection(status, body)
  }
}

function decodeRejection(status: number, body: unknown): BillingRejected {
  try {
    const { error } = decodeBillingErrorBody(body)
    return new BillingRejected(status, error.code, error.message)
  } catch {
    return new BillingRejected(status, 'unknown', 'an answer that is not of the contract')
  }
}

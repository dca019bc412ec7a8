import { randomUUID } from 'node:crypto'
import { DEVNET_ROLES, type DevnetAccount, USDC_ADDRESS } from '@upfront/devnet'
import {
  type AuthorizeResult,
  billingPath,
  type ChargeResult,
  decodeAuthorizeResult,
  decodeChargeResult,
  decodePayment,
  type Payment,
} from '@upfront/protocol'
import { createLogger, type Logger } from '@upfront/service'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { startBilling } from '../../src/billing.js'
import { readBillingEnvironment } from '../../src/environment/environment.js'
import { DEFAULT_LIMITS } from '../../src/environment/limits.js'
import { makeRequirements, sign } from './buyer.js'
import { oneStore, type Store } from './stores.js'

export const TOKEN = 'test-token'
export const READ_TOKEN = 'test-read-token'

/**
 * The environment of a billing on a local chain, without that of its ledger. Variables named like fields of `LIMITS` go there;
 * `confirmations` and `dailyGasBudget` go into the chain's settings.
 */
export function billingVariables(
  rpcUrl: string,
  { confirmations, dailyGasBudget, ...given }: NodeJS.ProcessEnv = {},
): NodeJS.ProcessEnv {
  const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
  const depth = confirmations === undefined ? undefined : Number(confirmations)
  const chain = { rpcUrl, tokens, confirmations: depth, dailyGasBudget }
  const isLimit = ([name]: [string, unknown]) => Object.hasOwn(DEFAULT_LIMITS, name)
  const limits = Object.entries(given)
    .filter(isLimit)
    .map(([name, value]) => [name, Number(value)])
  return {
    BILLING_PORT: '0',
    BILLING_TOKEN: TOKEN,
    BILLING_READ_TOKEN: READ_TOKEN,
    FACILITATOR_PRIVATE_KEYS: DEVNET_ROLES.facilitators[0].privateKey,
    CHAINS: JSON.stringify({ 'eip155:31337': chain }),
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    // Long enough for a busy machine; a test that needs a shorter wait sets it.
    LIMITS: JSON.stringify({ receiptWaitMs: 300_000, ...Object.fromEntries(limits) }),
    ...Object.fromEntries(Object.entries(given).filter((entry) => !isLimit(entry))),
  }
}

/** Billing in this process, on an empty ledger unless one is named. */
export async function runBilling(
  rpcUrl: string,
  variables: NodeJS.ProcessEnv = {},
  logger?: Logger,
): Promise<BillingClient & { close(): Promise<void> }> {
  const isPlaced = variables.DATABASE_URL !== undefined || variables.BILLING_DATA_DIR !== undefined
  const ledger = isPlaced ? {} : await (oneStore()[0] as Store).variables()
  const environment = readBillingEnvironment(billingVariables(rpcUrl, { ...ledger, ...variables }))
  const billing = await startBilling(environment, logger ?? createLogger({ level: environment.LOG_LEVEL }))
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= billing.close()
    return closed
  }
  return Object.assign(new BillingClient(billing.url), { close })
}

export interface Answer {
  status: number
  headers: Headers
  body: unknown
}

/** A client of billing's HTTP API. */
export class BillingClient {
  constructor(readonly url: string) {}

  async send(
    path: string,
    { body, key, token = TOKEN }: { body?: unknown; key?: string; token?: string } = {},
  ): Promise<Answer> {
    const response = await fetch(`${this.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const json = response.headers.get('content-type')?.includes('json')
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text }
  }

  async authorize(
    paymentPayload: PaymentPayload,
    {
      requirements = paymentPayload.accepted,
      key = randomUUID(),
      ...more
    }: { requirements?: PaymentRequirements; key?: string; route?: string; minimumValiditySeconds?: number } = {},
  ): Promise<AuthorizeResult> {
    const body = { paymentPayload, paymentRequirements: requirements, ...more }
    const answer = await this.send(billingPath.authorize, { body, key })
    if (answer.status !== 200) throw new Error(`authorize: ${answer.status} ${JSON.stringify(answer.body)}`)
    return decodeAuthorizeResult(answer.body)
  }

  async charge(
    paymentId: string,
    amount: string,
    { key = randomUUID(), ...more }: { key?: string; waitMilliseconds?: number; reason?: string } = {},
  ): Promise<ChargeResult> {
    const answer = await this.send(billingPath.charge(paymentId), { body: { amount, ...more }, key })
    if (answer.status !== 200) throw new Error(`charge: ${answer.status} ${JSON.stringify(answer.body)}`)
    return decodeChargeResult(answer.body)
  }

  async release(paymentId: string, reason: string, key: string = randomUUID()): Promise<ChargeResult> {
    const answer = await this.send(billingPath.release(paymentId), { body: { reason }, key })
    return decodeChargeResult(answer.body)
  }

  async payment(paymentId: string): Promise<Payment> {
    const { body } = await this.send(billingPath.payment(paymentId))
    return decodePayment((body as { payment: unknown }).payment)
  }

  /** Signs and authorizes; throws if refused. */
  async authorizeNew(
    requirements: PaymentRequirements = makeRequirements(),
    buyer: DevnetAccount = DEVNET_ROLES.buyer,
  ): Promise<Payment> {
    const result = await this.authorize(await sign(requirements, buyer))
    if (result.outcome !== 'authorized') throw new Error(`refused: ${result.reason} ${result.message}`)
    return result.payment
  }

  async verify(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements = paymentPayload.accepted) {
    return this.send('/verify', { body: { x402Version: 2, paymentPayload, paymentRequirements } })
  }

  async settle(paymentPayload: PaymentPayload, amount: string, requirements = paymentPayload.accepted) {
    const paymentRequirements = { ...requirements, amount }
    return this.send('/settle', { body: { x402Version: 2, paymentPayload, paymentRequirements } })
  }
}

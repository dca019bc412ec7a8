import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'
import type { AssetDescription, DurableFacilitatorClient, SettleTerms } from '../routes/durable-facilitator.js'

/** One charge, as a facilitator would settle it. */
export interface FakeCharge {
  /** In the asset's smallest unit. */
  amount: string
  reason: string
  payer: string
  payTo: string
  network: string
}

const FACILITATOR_ADDRESS = `0x${'fa'.repeat(20)}`
/** Networks with a USDC known to @x402/evm, and the local chains of anvil and hardhat. */
const NETWORKS = [
  'eip155:8453',
  'eip155:84532',
  'eip155:137',
  'eip155:42161',
  'eip155:1',
  'eip155:31337',
  'eip155:1337',
]

/** A durable facilitator without a chain, for tests only: it accepts every payment for one request and checks no signature. */
export class FakeFacilitator implements DurableFacilitatorClient {
  /** The charges, in order. */
  readonly charges: FakeCharge[] = []
  /** The reasons of released payments, in order. Their requests cost nothing. */
  readonly released: string[] = []
  /** Set to an x402 reason, such as `permit2_insufficient_balance`, to refuse payments with it. */
  refusal: string | undefined
  /** `pending`: charges are stored but not on chain yet. `failed`: they can't be settled. */
  settlement: 'settled' | 'pending' | 'failed' = 'settled'
  /** Set to true to simulate a facilitator that does not answer. */
  down = false
  readonly #networks: readonly string[]
  readonly #used = new Set<string>()

  constructor({ networks = NETWORKS }: { networks?: readonly string[] } = {}) {
    this.#networks = networks
  }

  async verify(payload: PaymentPayload): Promise<VerifyResponse> {
    this.#demandAnswer()
    const { from, nonce } = authorizationOf(payload)
    if (this.refusal !== undefined) return { isValid: false, invalidReason: this.refusal, payer: from }
    if (this.#used.has(nonce)) return { isValid: false, invalidReason: 'permit2_invalid_nonce', payer: from }
    this.#used.add(nonce)
    return { isValid: true, payer: from }
  }

  async settle(
    payload: PaymentPayload,
    { amount, network, payTo }: PaymentRequirements,
    { reason }: SettleTerms = { reason: 'usage' },
  ): Promise<SettleResponse> {
    this.#demandAnswer()
    const payer = authorizationOf(payload).from
    const receipt = { network, payer, amount, transaction: '' }
    if (this.settlement === 'failed') return { ...receipt, success: false, errorReason: 'permit2_insufficient_balance' }
    this.charges.push({ amount, reason, payer, payTo, network })
    if (this.settlement === 'pending') return { ...receipt, success: false, errorReason: 'settlement_pending' }
    const number = this.charges.length.toString(16).padStart(64, '0')
    return { ...receipt, success: true, transaction: amount === '0' ? '' : `0x${number}` }
  }

  async release(_payload: PaymentPayload, _requirements: PaymentRequirements, reason: string): Promise<void> {
    this.released.push(reason)
  }

  async getSupported() {
    this.#demandAnswer()
    const kinds = this.#networks.flatMap((name) => {
      const network = name as `${string}:${string}`
      const extra = { facilitatorAddress: FACILITATOR_ADDRESS }
      return [
        { x402Version: 2, scheme: 'upto', network, extra },
        { x402Version: 2, scheme: 'exact', network },
      ]
    })
    return { kinds, extensions: [], signers: {} }
  }

  async describeAsset(): Promise<AssetDescription> {
    return { decimals: 6, name: 'USDC', version: '2' }
  }

  #demandAnswer(): void {
    if (this.down) throw new Error('the fake facilitator is down')
  }
}

function authorizationOf(payload: PaymentPayload): { from: string; nonce: string } {
  type Signed = { from: string; nonce: string }
  const { permit2Authorization, authorization } = payload.payload as Record<string, Signed | undefined>
  const signed = permit2Authorization ?? authorization
  if (signed === undefined) throw new Error('a payment without an authorization')
  return signed
}

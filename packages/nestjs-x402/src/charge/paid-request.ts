import type { ServerResponse } from 'node:http'
import { formatUnits } from '@upfront/protocol'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'

/** The payment of one request, as its handler sees it. */
export class PaidRequest {
  readonly #abort = new AbortController()
  readonly #onLate: (amount: unknown) => void
  #amount: unknown
  #closed = false
  #finish!: () => void
  #gaveUp = false
  /** Resolves once the handler has returned or thrown. */
  readonly handled = new Promise<void>((resolve) => {
    this.#finish = resolve
  })

  constructor(
    /** `<METHOD> <path>`, as configured. */
    readonly route: string,
    /** The buyer's address, as signed. */
    readonly payer: string,
    /** The accepted offer; `amount` is the maximum. */
    readonly requirements: Readonly<PaymentRequirements>,
    /** Decimals of the asset. */
    readonly decimals: number,
    onLate: (amount: unknown) => void = () => undefined,
    /**
     * The verified payment, with the seller's own description of the resource. Contains the buyer's signature: never log it. Undefined in
     * tests without payments.
     */
    readonly payload?: Readonly<PaymentPayload>,
  ) {
    this.#onLate = onLate
  }

  /** The most that can be charged, in the asset's smallest unit. */
  get maximum(): bigint {
    return BigInt(this.requirements.amount)
  }

  /** Aborts on time-out or when the client leaves: results computed afterwards are not delivered. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /**
   * Sets the price of this request: dollars (`$0.03`), the asset's smallest unit (`30000`) or a share of the maximum (`50%`). The last call
   * counts. An amount above the maximum is never charged: see `charge.invalid`. An `exact` payment always costs its price.
   */
  setSettlementAmount(amount: string | bigint): void {
    const said = typeof amount === 'bigint' ? amount.toString() : amount
    if (this.#closed) this.#onLate(said)
    else this.#amount = said
  }

  /** Returns the amount that the handler set. Later calls of `setSettlementAmount` have no effect. */
  closeAmount(): unknown {
    this.#closed = true
    return this.#amount
  }

  abort(reason: string): void {
    this.#abort.abort(new Error(reason))
  }

  /** True if the handler threw because `signal` aborted. */
  get gaveUp(): boolean {
    return this.#gaveUp
  }

  finish(gaveUp: boolean): void {
    this.#gaveUp = gaveUp
    this.#finish()
  }

  /** The amount in dollars for people, such as `$0.1`. */
  describe(amount: bigint): string {
    return `$${formatUnits(amount, this.decimals)}`
  }
}

type AnyResponse = ServerResponse | { raw: ServerResponse }

const payments = new WeakMap<ServerResponse, PaidRequest>()

/** Node's response: Express passes it directly, Fastify wraps it in a reply. */
export function rawResponse(response: AnyResponse): ServerResponse {
  return 'raw' in response ? response.raw : response
}

/** The payment of the response's request; undefined on a free route. */
export function paymentOf(response: AnyResponse): PaidRequest | undefined {
  return payments.get(rawResponse(response))
}

export function attachPayment(response: ServerResponse, payment: PaidRequest): void {
  payments.set(response, payment)
}

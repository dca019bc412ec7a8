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
    /** Address of the buyer, as it signed. */
    readonly payer: string,
    /** What the buyer accepted; `amount` is the maximum. */
    readonly requirements: Readonly<PaymentRequirements>,
    /** Of the asset. */
    readonly decimals: number,
    onLate: (amount: unknown) => void = () => undefined,
    /** As the buyer sent it, verified. Holds its signature: never log it. Undefined where tests run without payments. */
    readonly payload?: Readonly<PaymentPayload>,
  ) {
    this.#onLate = onLate
  }

  /** The most that can be charged, in the asset's smallest unit. */
  get maximum(): bigint {
    return BigInt(this.requirements.amount)
  }

  /** Aborts when the time-out has passed or the client is gone: nobody will receive what is computed after it. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /**
   * Says what this request costs: dollars (`$0.03`), the asset's smallest unit (`30000`) or a share of the maximum
   * (`50%`). The last call counts. Never charges above the maximum: see `charge.invalid`. An exact payment is its price, whatever is
   * set.
   */
  setSettlementAmount(amount: string | bigint): void {
    const said = typeof amount === 'bigint' ? amount.toString() : amount
    if (this.#closed) this.#onLate(said)
    else this.#amount = said
  }

  /** What the handler set; nothing that it sets later counts. */
  closeAmount(): unknown {
    this.#closed = true
    return this.#amount
  }

  abort(reason: string): void {
    this.#abort.abort(new Error(reason))
  }

  /** True where the handler threw because `signal` aborted. */
  get gaveUp(): boolean {
    return this.#gaveUp
  }

  finish(gaveUp: boolean): void {
    this.#gaveUp = gaveUp
    this.#finish()
  }

  /** `$0.1` style, for people. */
  describe(amount: bigint): string {
    return `$${formatUnits(amount, this.decimals)}`
  }
}

type AnyResponse = ServerResponse | { raw: ServerResponse }

const payments = new WeakMap<ServerResponse, PaidRequest>()

/** Node's own response: Express hands it out itself, Fastify a reply around it. */
export function rawResponse(response: AnyResponse): ServerResponse {
  return 'raw' in response ? response.raw : response
}

/** The payment that a response is paid by; undefined on a free route. */
export function paymentOf(response: AnyResponse): PaidRequest | undefined {
  return payments.get(rawResponse(response))
}

export function rememberPayment(response: ServerResponse, payment: PaidRequest): void {
  payments.set(response, payment)
}

import type { PaymentRequirements } from '@x402/core/types'
import { formatUnits } from './amount.js'

/** The payment of one request, as its handler sees it. */
export class PaidRequest {
  readonly #abort = new AbortController()
  #amount: unknown
  #closed = false
  #onLate: (amount: unknown) => void

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
  ) {
    this.#onLate = onLate
  }

  /** The most that can be charged, in the asset's smallest unit. */
  get maximum(): bigint {
    return BigInt(this.requirements.amount)
  }

  /** Aborts when the time-out has passed or the client is gone: work that goes on after it is worth nothing. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /**
   * Says what this request costs: dollars (`$0.03`), the asset's smallest unit (`30000`) or a share of the maximum
   * (`50%`). The last call counts. Never charges above the maximum: see `charge.invalid`.
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

  /** `$0.1` style, for people. */
  describe(amount: bigint): string {
    return `$${formatUnits(amount, this.decimals)}`
  }
}

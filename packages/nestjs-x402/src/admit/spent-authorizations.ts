import type { SignedAuthorization } from '@upfront/protocol'

const MOST = 100_000
const KEPT_OF_THE_YOUNGEST = 90_000

/**
 * Enforces single use within this process, for facilitators without memory. An authorization is spent from its first use until its
 * deadline, whatever was charged. Above the limit the oldest entries are dropped.
 */
export class SpentAuthorizations {
  readonly #deadlines = new Map<string, bigint>()

  /** @returns false if it was spent before */
  spend(network: string, authorization: SignedAuthorization): boolean {
    const key = keyOf(network, authorization)
    if (this.#deadlines.has(key)) return false
    if (this.#deadlines.size >= MOST) this.#forget()
    this.#deadlines.set(key, authorization.deadline)
    return true
  }

  /** Makes an authorization usable again that did not verify. */
  unspend(network: string, authorization: SignedAuthorization): void {
    this.#deadlines.delete(keyOf(network, authorization))
  }

  #forget(): void {
    const now = BigInt(Math.floor(Date.now() / 1000))
    for (const [key, deadline] of this.#deadlines) if (deadline < now) this.#deadlines.delete(key)
    for (const key of this.#deadlines.keys()) {
      if (this.#deadlines.size <= KEPT_OF_THE_YOUNGEST) return
      this.#deadlines.delete(key)
    }
  }
}

function keyOf(network: string, { payer, nonce }: SignedAuthorization): string {
  return `${network} ${payer.toLowerCase()} ${nonce}`
}

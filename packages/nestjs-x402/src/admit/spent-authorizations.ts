import type { SignedAuthorization } from '@upfront/protocol'

const MOST = 100_000
const KEPT_OF_THE_YOUNGEST = 90_000

/**
 * Single use within this process, for facilitators that do not remember: an authorization is spent from the moment of
 * its first use until its deadline, whatever was charged. Beyond the limit the oldest are forgotten.
 */
export class SpentAuthorizations {
  readonly #deadlines = new Map<string, bigint>()

  /** @returns false where it was spent before */
  spend(network: string, authorization: SignedAuthorization): boolean {
    const key = keyOf(network, authorization)
    if (this.#deadlines.has(key)) return false
    if (this.#deadlines.size >= MOST) this.#forget()
    this.#deadlines.set(key, authorization.deadline)
    return true
  }

  /** It did not verify: its owner may still use it. */
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

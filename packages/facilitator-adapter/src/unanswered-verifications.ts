import { createHash } from 'node:crypto'
import type { AuthorizeRequest } from '@upfront/protocol'

const MOST = 100_000

/**
 * Verifications that got no answer, with their idempotency keys. A repeated request reuses its key, so that billing returns the first
 * result and the authorization stays usable.
 */
export class UnansweredVerifications {
  readonly #byRequest = new Map<string, { key: string; deadline: bigint }>()

  /** @param deadline of the authorization, Unix seconds */
  add(request: AuthorizeRequest, key: string, deadline: bigint): void {
    if (this.#byRequest.size >= MOST) this.#removeFromJournal()
    this.#byRequest.set(digest(request), { key, deadline })
  }

  /** Returns the key to reuse. Only the first caller gets it. */
  take(request: AuthorizeRequest): string | undefined {
    if (this.#byRequest.size === 0) return undefined
    const name = digest(request)
    const found = this.#byRequest.get(name)
    this.#byRequest.delete(name)
    return found?.key
  }

  #removeFromJournal(): void {
    const now = BigInt(Math.floor(Date.now() / 1000))
    for (const [name, { deadline }] of this.#byRequest) if (deadline < now) this.#byRequest.delete(name)
    const [oldest] = this.#byRequest.keys()
    if (oldest !== undefined && this.#byRequest.size >= MOST) this.#byRequest.delete(oldest)
  }
}

function digest(request: AuthorizeRequest): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('base64')
}

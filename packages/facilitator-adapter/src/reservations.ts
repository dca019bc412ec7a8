import { decodePaymentPayload, type Network } from '@upfront/protocol'
import type { PaymentPayload } from '@x402/core/types'

/** What identifies an authorization for ever. */
export interface AuthorizationId {
  network: Network
  payer: string
  nonce: bigint
  /** Seconds since 1970. */
  deadline: bigint
}

/** @throws DecodeError */
export function authorizationOf(payload: PaymentPayload): AuthorizationId {
  const { accepted, authorization } = decodePaymentPayload(payload)
  return {
    network: accepted.network,
    payer: authorization.payer,
    nonce: authorization.nonce,
    deadline: authorization.deadline,
  }
}

/** Which payment of billing's a verified payload is, from its authorization to its charge or release. */
export class Reservations {
  readonly #paymentIds = new Map<string, string>()

  add(authorization: AuthorizationId, paymentId: string): void {
    this.#paymentIds.set(keyOf(authorization), paymentId)
  }

  take(authorization: AuthorizationId): string | undefined {
    const key = keyOf(authorization)
    const paymentId = this.#paymentIds.get(key)
    this.#paymentIds.delete(key)
    return paymentId
  }
}

function keyOf({ network, payer, nonce }: AuthorizationId): string {
  return `${network} ${payer} ${nonce}`
}

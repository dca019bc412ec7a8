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

/** The same as one text. */
export function keyOf({ network, payer, nonce }: AuthorizationId): string {
  return `${network} ${payer} ${nonce}`
}

import { decodePaymentPayload, type Network } from '@upfront/protocol'
import type { PaymentPayload } from '@x402/core/types'

/** Identifies an authorization permanently: a payer's nonce is used at most once on a network. */
export interface AuthorizationId {
  network: Network
  payer: string
  nonce: bigint
  /** Unix time, in seconds. */
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

/** The id as one string, for use as a map key. */
export function keyOf({ network, payer, nonce }: AuthorizationId): string {
  return `${network} ${payer} ${nonce}`
}

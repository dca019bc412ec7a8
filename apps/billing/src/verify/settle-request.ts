import {
  type Address,
  DecodeError,
  decodePaymentPayload,
  decodeRequirements,
  type Hex,
  type Network,
  RefusalReason,
  type Scheme,
} from '@upfront/protocol'

export interface SettleRequest {
  scheme: Scheme
  network: Network
  payer: Address
  /** As the seller asks; a verification compares it with what was signed. */
  payTo: Address
  nonce: bigint
  signature: Hex
  /** The charge, smallest unit. */
  amount: bigint
  /** The requirements with the signed maximum as their amount, as a verification wants them. */
  maximumRequirements: Record<string, unknown>
}

/** Reads `POST /settle`: there the requirements' amount is the charge. */
export function readSettleRequest(
  paymentPayload: unknown,
  paymentRequirements: unknown,
): ({ valid: true } & SettleRequest) | { valid: false; reason: string; message: string; network: Network } {
  try {
    const requirements = decodeRequirements(paymentRequirements, 'paymentRequirements')
    const { authorization } = decodePaymentPayload(paymentPayload)
    const { amount, network, payTo } = requirements
    if (requirements.scheme === 'exact' && amount !== authorization.maximum) {
      const message = `the charge ${amount} is not the authorized amount ${authorization.maximum}`
      return { valid: false, reason: RefusalReason.amountMismatch, message, network }
    }
    if (amount > authorization.maximum) {
      const message = `the charge ${amount} is above the authorized maximum ${authorization.maximum}`
      return { valid: false, reason: RefusalReason.exceedsMaximum, message, network }
    }
    return {
      valid: true,
      scheme: requirements.scheme,
      network,
      payer: authorization.payer,
      payTo,
      nonce: authorization.nonce,
      signature: authorization.signature,
      amount,
      maximumRequirements: {
        ...(paymentRequirements as Record<string, unknown>),
        amount: authorization.maximum.toString(),
      },
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const network = networkOf(paymentRequirements)
    return { valid: false, reason: RefusalReason.invalidPayload, message: error.message, network }
  }
}

function networkOf(requirements: unknown): Network {
  const network = (requirements as { network?: unknown } | null | undefined)?.network
  return typeof network === 'string' && /^eip155:[0-9]{1,16}$/.test(network) ? (network as Network) : 'eip155:0'
}

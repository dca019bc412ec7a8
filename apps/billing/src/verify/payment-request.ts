import {
  type Address,
  DecodeError,
  decodePaymentPayload,
  decodeRequirements,
  GAS_SPONSORING,
  RefusalReason,
  type Requirements,
  type SignedPayment,
} from '@upfront/protocol'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'

/** What a seller sends of one payment, decoded once. */
export interface PaymentRequest extends Omit<SignedPayment, 'accepted'> {
  requirements: Requirements
  /** The objects as they came, for @x402/evm and the catalogue. */
  wire: { payload: PaymentPayload; requirements: PaymentRequirements }
}

export interface Invalid {
  valid: false
  reason: string
  message: string
  payer: Address | null
}

export function decodePaymentRequest(
  paymentPayload: unknown,
  paymentRequirements: unknown,
): ({ valid: true } & PaymentRequest) | Invalid {
  try {
    const requirements = decodeRequirements(paymentRequirements, 'paymentRequirements')
    const { authorization, permit } = decodePaymentPayload(paymentPayload)
    const wire = {
      payload: paymentPayload as PaymentPayload,
      requirements: paymentRequirements as PaymentRequirements,
    }
    return { valid: true, requirements, authorization, permit, wire }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return { valid: false, reason: reasonOfField(error.place), message: error.message, payer: null }
  }
}

/** The same with the signed maximum as the amount: what a verification wants where a settlement names its charge. */
export function withMaximum(request: PaymentRequest): PaymentRequest {
  const { requirements, authorization, wire } = request
  const amount = authorization.maximum
  return {
    ...request,
    requirements: { ...requirements, amount },
    wire: { ...wire, requirements: { ...wire.requirements, amount: `${amount}` } },
  }
}

/** x402's own reason for a field that does not decode. */
function reasonOfField(field: string): string {
  if (field.includes(`.${GAS_SPONSORING}.`)) return RefusalReason.invalidPermit
  if (field.endsWith('.scheme')) return RefusalReason.invalidScheme
  if (field.endsWith('.network')) return RefusalReason.invalidNetwork
  return RefusalReason.invalidPayload
}

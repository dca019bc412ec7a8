import {
  type Address,
  type AuthorizeResult,
  DecodeError,
  decodePaymentPayload,
  decodeRequirements,
  GAS_SPONSORING,
  RefusalReason,
  type Requirements,
  type SignedPayment,
} from '@upfront/protocol'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'

/** A seller's request about one payment, decoded once. */
export interface PaymentRequest extends Omit<SignedPayment, 'accepted'> {
  requirements: Requirements
  /** The original objects, for @x402/evm and the catalogue. */
  original: { payload: PaymentPayload; requirements: PaymentRequirements }
}

/** Why a payment was refused: an x402 reason and a message. `payer` is `null` if unknown. */
export type Refused = Extract<AuthorizeResult, { outcome: 'refused' }>
export type Refusal = Pick<Refused, 'reason' | 'message'>

export function refused({ reason, message }: Refusal, payer: Address | null): Refused {
  return { outcome: 'refused', reason, message, payer }
}

export function decodePaymentRequest(paymentPayload: unknown, paymentRequirements: unknown): PaymentRequest | Refused {
  try {
    const requirements = decodeRequirements(paymentRequirements, 'paymentRequirements')
    const { authorization, permit } = decodePaymentPayload(paymentPayload)
    const original = {
      payload: paymentPayload as PaymentPayload,
      requirements: paymentRequirements as PaymentRequirements,
    }
    return { requirements, authorization, permit, original }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return refused({ reason: reasonOfField(error.place), message: error.message }, null)
  }
}

/** The request with the signed maximum as its amount: a settlement's amount is the charge, but the maximum is verified. */
export function withMaximum(request: PaymentRequest): PaymentRequest {
  const { requirements, authorization, original } = request
  const amount = authorization.maximum
  return {
    ...request,
    requirements: { ...requirements, amount },
    original: { ...original, requirements: { ...original.requirements, amount: `${amount}` } },
  }
}

/** The x402 reason for a field that does not decode. */
function reasonOfField(field: string): string {
  if (field.includes(`.${GAS_SPONSORING}.`)) return RefusalReason.invalidPermit
  if (field.endsWith('.scheme')) return RefusalReason.invalidScheme
  if (field.endsWith('.network')) return RefusalReason.invalidNetwork
  return RefusalReason.invalidPayload
}

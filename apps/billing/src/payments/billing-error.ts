import { BILLING_ERROR_STATUS, type BillingErrorCode } from '@upfront/protocol'

/** A call that was not carried out, with the reason for the client. Never contains a secret or a library's error text. */
export class BillingError extends Error {
  override readonly name = 'BillingError'
  readonly status: number
  constructor(
    readonly code: BillingErrorCode,
    message: string,
    readonly field?: string,
  ) {
    super(message)
    this.status = BILLING_ERROR_STATUS[code]
  }
}

export function noSuchPayment(): BillingError {
  return new BillingError('not_found', 'there is no such payment')
}

/**
 * Billing did not answer, or answered that it can't now. Whether a call arrived is unknown unless `arrived` is false.
 */
export class BillingUnavailable extends Error {
  override readonly name = 'BillingUnavailable'
  constructor(
    message: string,
    /** For Retry-After. */
    readonly retryAfterSeconds: number,
    /** False where billing certainly took no notice: no connection, or an open circuit. */
    readonly arrived: boolean,
  ) {
    super(message)
  }
}

/** Billing refused the call itself: a wrong token, an unknown payment, a body that does not decode. */
export class BillingRejected extends Error {
  override readonly name = 'BillingRejected'
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(`billing answered ${status} ${code}: ${message}`)
  }
}

/** Whether the same call may be answered later. A wrong token is the operator's mistake: it may be put right before the authorization ends. */
export function isPassing(error: unknown): boolean {
  return error instanceof BillingUnavailable || (error instanceof BillingRejected && error.status === 401)
}

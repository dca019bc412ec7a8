/** Billing did not answer, or can't serve the call now. Unless `arrived` is false, billing may have received the call. */
export class BillingUnavailable extends Error {
  override readonly name = 'BillingUnavailable'
  constructor(
    message: string,
    /** Value of the Retry-After header. */
    readonly retryAfterSeconds: number,
    /** False if billing certainly did not receive the call: no connection, or an open circuit. */
    readonly arrived: boolean,
  ) {
    super(message)
  }
}

/** Billing refused the call: wrong token, unknown payment, or a body that does not decode. */
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

/** Whether a retry may succeed. A wrong token counts as temporary: the operator may fix it before the authorization expires. */
export function isTransient(error: unknown): boolean {
  return error instanceof BillingUnavailable || (error instanceof BillingRejected && error.status === 401)
}

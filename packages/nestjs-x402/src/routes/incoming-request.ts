/** A request for a paid route, independent of the framework. */
export interface IncomingRequest {
  /** The PAYMENT-SIGNATURE header. */
  payment: string | undefined
  accept: string | undefined
  method: string
  url: string
  /** The body as the framework parsed it. */
  body: unknown
}

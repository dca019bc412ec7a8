/** A request for a paid route, free of any framework. */
export interface IncomingRequest {
  /** The PAYMENT-SIGNATURE header. */
  payment: string | undefined
  accept: string | undefined
  method: string
  url: string
  /** As the framework parsed it. */
  body: unknown
}

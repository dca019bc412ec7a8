/** Where `@PaidRoute` keeps its options on a handler. */
export const PAID_ROUTE = Symbol.for('nestjs-x402:paid-route')

export { BillingRejected, BillingUnavailable } from './billing-error.js'
export { BillingFacilitator, type BillingFacilitatorOptions } from './billing-facilitator.js'
export type { Log } from './pursuits.js'

export { BillingRejected, BillingUnavailable } from './billing-error.js'
export { BillingFacilitator, type BillingFacilitatorOptions } from './billing-facilitator.js'
export { type ChargeJournal, FileJournal, type JournaledCharge } from './charge-journal.js'
export type { Log } from './retries.js'

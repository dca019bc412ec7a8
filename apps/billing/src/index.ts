export { type Billing, startBilling } from './billing.js'
export { type BillingEnvironment, readEnvironment } from './environment/environment.js'

export { type Billing, startBilling } from './billing.js'
export { Environment, readBillingEnvironment } from './environment/environment.js'

import { join } from 'node:path'
import type { Environment } from './environment.js'
import { DIVIDED_LIMITS } from './limits.js'

/** The settings of one of `GATEWAY_WORKERS` processes. @param place its number, from 1 */
export function shareOf(environment: Environment, place: number): Environment {
  const share: Environment = Object.assign(Object.create(Object.getPrototypeOf(environment)), environment)
  const ownOf = (amount: number) => Math.ceil(amount / environment.GATEWAY_WORKERS)
  share.MEMORY_LIMIT_BYTES = ownOf(environment.MEMORY_LIMIT_BYTES)
  const divided = DIVIDED_LIMITS.map((field) => [field, ownOf(environment.LIMITS[field])])
  share.LIMITS = { ...environment.LIMITS, ...Object.fromEntries(divided) }
  // Each journal has a single owner.
  if (environment.CHARGE_JOURNAL_DIR !== undefined)
    share.CHARGE_JOURNAL_DIR = join(environment.CHARGE_JOURNAL_DIR, `worker-${place}`)
  return share
}

import { join } from 'node:path'
import type { Environment } from './environment.js'

/** What a process and all others together keep to. */
const DIVIDED = [
  'MEMORY_LIMIT_BYTES',
  'MAX_IN_FLIGHT',
  'MAX_QUEUED',
  'MAX_CONNECTIONS',
  'MAX_CONNECTIONS_PER_CLIENT',
] as const

/** The settings of one of `GATEWAY_WORKERS` processes. @param worker its number, from 1 */
export function shareOf(environment: Environment, worker: number): Environment {
  const share: Environment = Object.assign(Object.create(Object.getPrototypeOf(environment)), environment)
  for (const name of DIVIDED) share[name] = Math.ceil(environment[name] / environment.GATEWAY_WORKERS)
  // A journal has one owner.
  if (environment.CHARGE_JOURNAL_DIR !== undefined) {
    const place = ((worker - 1) % environment.GATEWAY_WORKERS) + 1
    share.CHARGE_JOURNAL_DIR = join(environment.CHARGE_JOURNAL_DIR, `worker-${place}`)
  }
  return share
}

import { readJsonFile } from '@upfront/service'
import type { FreeBudgetLimits } from './limits.js'

/** Who holds a key, and what they may have without paying. */
export interface ApiKey extends Partial<FreeBudgetLimits> {
  name: string
  /** SHA-256 of the key, in lower-case hex: keys are random, so that no slower hash is needed. */
  sha256: string
}

const BUDGET = ['callsPerSecond', 'gasPerMinute', 'bytesPerMinute', 'readsPerMinute'] as const

/**
 * `API_KEYS_FILE`: `{"keys": [{"name": "acme", "sha256": "…", "callsPerSecond": 500, "gasPerMinute": 50000000000}]}`.
 * @throws Error that names the field
 */
export function readApiKeysFile(path: string): ApiKey[] {
  const { keys } = (readJsonFile(path) ?? {}) as { keys?: unknown }
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('keys: expected a list of at least one')
  const read = keys.map((key: unknown, index) => apiKey(key, `keys[${index}]`))
  for (const field of ['name', 'sha256'] as const)
    if (new Set(read.map((key) => key[field])).size < read.length) throw new Error(`keys: the same ${field} twice`)
  return read
}

function apiKey(value: unknown, place: string): ApiKey {
  if (typeof value !== 'object' || value === null) throw new Error(`${place}: expected an object`)
  const { name, sha256, ...rest } = value as Record<string, unknown>
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name))
    throw new Error(`${place}.name: expected 1 to 64 letters, digits, dots, hyphens or underscores`)
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256))
    throw new Error(`${place}.sha256: expected 64 lower-case hex digits: printf %s "$KEY" | sha256sum`)
  return { name, sha256, ...budgetOf(rest, place) }
}

/** Fields of a budget of its own; those that are absent are as for everybody. @throws Error that names the field */
function budgetOf(fields: Record<string, unknown>, place: string): Partial<FreeBudgetLimits> {
  for (const [field, amount] of Object.entries(fields)) {
    if (!BUDGET.includes(field as (typeof BUDGET)[number]))
      throw new Error(`${place}.${field}: not known; there are name, sha256, ${BUDGET.join(', ')}`)
    if (!Number.isSafeInteger(amount) || (amount as number) < 1)
      throw new Error(`${place}.${field}: expected a whole number from 1 on`)
  }
  return fields
}

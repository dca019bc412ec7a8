import {
  decodeInteger,
  decodeList,
  decodeObject,
  decodeSecret,
  decodeText,
  invalidField,
  refuseUnknownFields,
} from '@upfront/protocol'
import { readJsonFile } from '@upfront/service'
import type { FreeBudgetLimits } from './limits.js'

/** The holder of an API key and its free budget. */
export interface ApiKey extends Partial<FreeBudgetLimits> {
  name: string
  /** SHA-256 of the key in lower-case hex. Keys are random, so no slower hash is needed. */
  sha256: string
}

const BUDGET = ['callsPerSecond', 'gasPerMinute', 'bytesPerMinute', 'readsPerMinute'] as const

/**
 * `API_KEYS_FILE`: `{"keys": [{"name": "acme", "sha256": "…", "callsPerSecond": 500, "gasPerMinute": 50000000000}]}`. Budget fields that
 * are absent have the values of `LIMITS`.
 * @throws DecodeError that names the field
 */
export function readApiKeysFile(path: string): ApiKey[] {
  const keys = decodeList(decodeObject(readJsonFile(path), 'the file').keys, 'keys')
  if (keys.length === 0) throw invalidField('keys', 'expected at least one')
  const read = keys.map((key, index) => apiKey(key, `keys[${index}]`))
  for (const field of ['name', 'sha256'] as const)
    if (new Set(read.map((key) => key[field])).size < read.length) throw invalidField('keys', `duplicate ${field}`)
  return read
}

function apiKey(value: unknown, place: string): ApiKey {
  const { name, sha256, ...budget } = decodeObject(value, place)
  refuseUnknownFields(budget, place, BUDGET)
  for (const [field, amount] of Object.entries(budget)) decodeInteger(amount, `${place}.${field}`, 1)
  const hash = '64 lower-case hex digits: printf %s "$KEY" | sha256sum'
  return {
    name: decodeText(name, /^[\w.-]{1,64}$/, `${place}.name`, '1 to 64 letters, digits, dots, hyphens or underscores'),
    sha256: decodeSecret(sha256, /^[0-9a-f]{64}$/, `${place}.sha256`, hash),
    ...budget,
  }
}

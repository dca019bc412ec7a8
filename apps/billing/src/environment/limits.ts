import { decodeNumbers, defaultNumbers } from '@upfront/service'
import { MAX_BATCH_ITEMS } from './chain-settings.js'

/** Default, minimum and maximum of each field of `LIMITS`. README.md describes them. */
const FIELDS = {
  receiptWaitMs: [30_000, 0, 300_000],
  nodeTimeoutMs: [5_000, 100, 120_000],
  recoveryMs: [3_000, 50, 600_000],
  reconcileMs: [60_000, 100, 3_600_000],
  feeBumpMs: [20_000, 500, 3_600_000],
  inFlightPerSigner: [16, 1, 1_000],
  minSettlements: [10, 0, 1_000_000],
  batchSize: [50, 2, MAX_BATCH_ITEMS],
  batchIntervalMs: [1_000, 0, 60_000],
} as const

export type Limits = { readonly [Field in keyof typeof FIELDS]: number }

export const DEFAULT_LIMITS: Limits = defaultNumbers(FIELDS)

/**
 * Decodes `LIMITS`: a JSON object with the fields to change, such as `{"feeBumpMs": 60000}`.
 * @throws Error with one line per invalid field
 */
export function decodeLimits(text: string): Limits {
  return decodeNumbers('LIMITS', FIELDS, text)
}

import { decodeNumbers, defaultNumbers } from '@upfront/service'

/** A client's free budget. */
export interface FreeBudgetLimits {
  /** 0 turns all free limits off. */
  callsPerSecond: number
  gasPerMinute: number
  bytesPerMinute: number
  readsPerMinute: number
}

/** The fields of `LIMITS`: default, minimum and maximum of each. README.md describes them. */
const FIELDS = {
  callsPerSecond: [50, 0],
  gasPerMinute: [5_000_000_000, 1],
  bytesPerMinute: [1024 * 1024 * 1024, 1],
  readsPerMinute: [200_000, 1],
  gas: [50_000_000, 21_000],
  reads: [5_000, 1],
  timeoutMs: [15_000, 10],
  paidGas: [250_000_000, 21_000],
  paidReads: [20_000, 1],
  paidTimeoutMs: [30_000, 10, 120_000],
  calls: [10_000, 1],
  batchLength: [100, 1],
  bodyBytes: [30 * 1024 * 1024, 1_024, 256 * 1024 * 1024],
  answerBytes: [64 * 1024 * 1024, 1_024, 256 * 1024 * 1024],
  inFlight: [64, 1],
  queued: [1_024, 0],
  connections: [10_000, 1],
  connectionsPerClient: [1_000, 1],
} as const

export type Limits = { readonly [Field in keyof typeof FIELDS]: number }

/** Limits of the whole gateway: each of `GATEWAY_WORKERS` processes gets an equal share. */
export const DIVIDED_LIMITS = ['inFlight', 'queued', 'connections', 'connectionsPerClient'] as const

/**
 * Decodes `LIMITS`: a JSON object of the fields that differ from the defaults, such as `{"callsPerSecond": 500, "gas": 100000000}`.
 * @throws Error with one line per wrong field
 */
export function decodeLimits(text: string): Limits {
  return decodeNumbers('LIMITS', FIELDS, text)
}

export const DEFAULT_LIMITS: Limits = defaultNumbers(FIELDS)

import { decodeNumbers, usualNumbers } from '@upfront/service'

/** What a client may have without paying. */
export interface FreeBudgetLimits {
  /** 0 switches every limit off. */
  callsPerSecond: number
  gasPerMinute: number
  bytesPerMinute: number
  readsPerMinute: number
}

/** The fields of `LIMITS`: what each is by default, and at least and at most. README.md says what is over each. */
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

/** Those of the process, which `GATEWAY_WORKERS` divide among themselves. */
export const DIVIDED_LIMITS = ['inFlight', 'queued', 'connections', 'connectionsPerClient'] as const

/**
 * `LIMITS`: a JSON object of the fields that are not to be as usual, such as `{"callsPerSecond": 500, "gas": 100000000}`.
 * @throws Error with a line for each field that is wrong
 */
export function decodeLimits(text: string): Limits {
  return decodeNumbers('LIMITS', FIELDS, text)
}

export const DEFAULT_LIMITS: Limits = usualNumbers(FIELDS)

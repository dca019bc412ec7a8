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
} as const satisfies Record<string, readonly [usual: number, least: number, most?: number]>

export type Limits = { readonly [Field in keyof typeof FIELDS]: number }

/** Those of the process, which `GATEWAY_WORKERS` divide among themselves. */
export const DIVIDED_LIMITS = ['inFlight', 'queued', 'connections', 'connectionsPerClient'] as const

/**
 * `LIMITS`: a JSON object of the fields that are not to be as usual, such as `{"callsPerSecond": 500, "gas": 100000000}`.
 * @throws Error with a line for each field that is wrong
 */
export function decodeLimits(text: string): Limits {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    throw new Error('expected a JSON object such as {"callsPerSecond": 500}')
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Error('expected a JSON object such as {"callsPerSecond": 500}')
  const problems = Object.entries(given).flatMap(([field, value]) => problemOf(field, value))
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return { ...DEFAULT_LIMITS, ...given }
}

function problemOf(field: string, value: unknown): string[] {
  if (!Object.hasOwn(FIELDS, field))
    return [`LIMITS.${field}: is not known; there are ${Object.keys(FIELDS).join(', ')}`]
  const [, least, most = Number.MAX_SAFE_INTEGER] = FIELDS[field as keyof Limits] as readonly [number, number, number?]
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return []
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`
  return [`LIMITS.${field}: expected a whole number ${range}`]
}

export const DEFAULT_LIMITS = Object.fromEntries(
  Object.entries(FIELDS).map(([field, [usual]]) => [field, usual]),
) as unknown as Limits

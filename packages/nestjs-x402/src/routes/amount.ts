const DOLLARS = /^\$(\d{1,60})(?:\.(\d{1,60}))?$/

/** Whether the text is `$` and a plain decimal, such as `$0.03`. */
export function isDollars(text: string): boolean {
  return DOLLARS.test(text)
}

/** Converts dollars to the asset's smallest unit, rounded down. Undefined if `text` is no dollar amount. */
export function dollarsToUnits(text: string, decimals: number): bigint | undefined {
  const match = DOLLARS.exec(text)
  if (match === null) return undefined
  const [, whole = '', fraction = ''] = match
  return BigInt(whole + fraction.padEnd(decimals, '0').slice(0, decimals))
}

/**
 * Parses an amount set by a handler: `$0.03`, `30000` (smallest unit) or `50%` of the maximum (at most two decimals, as in @x402/core).
 * Returns smallest units, rounded down, possibly above the maximum; undefined if it is none of these.
 */
export function parseSettlementAmount(text: unknown, maximum: bigint, decimals: number): bigint | undefined {
  if (typeof text !== 'string') return undefined
  if (/^\d{1,78}$/.test(text)) return BigInt(text)
  const percent = /^(\d{1,5})(?:\.(\d{1,2}))?%$/.exec(text)
  if (percent !== null) {
    const [, whole = '', fraction = ''] = percent
    return (maximum * BigInt(whole + fraction.padEnd(2, '0'))) / 10_000n
  }
  return dollarsToUnits(text, decimals)
}

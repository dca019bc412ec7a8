const DOLLARS = /^\$(\d{1,60})(?:\.(\d{1,60}))?$/

/** `$` and a plain decimal, such as `$0.03`. */
export function isDollars(text: string): boolean {
  return DOLLARS.test(text)
}

/** Smallest units, rounded down to what the asset can carry; undefined where `text` is no dollar amount. */
export function dollarsToUnits(text: string, decimals: number): bigint | undefined {
  const match = DOLLARS.exec(text)
  if (match === null) return undefined
  const [, whole = '', fraction = ''] = match
  return BigInt(whole + fraction.padEnd(decimals, '0').slice(0, decimals))
}

/**
 * An amount as a handler says it, in smallest units: `$0.03`, `30000` (smallest units) or `50%` of the maximum (as
 * @x402/core has it, two decimals at most). Rounded down. Undefined where it is none of them; may exceed the maximum.
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

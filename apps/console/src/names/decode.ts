/** A function, an event or an error, as decoded by the gateway with the request's ABI or the signatures of widely used contracts. */
export interface Named {
  name: string
  /** By name, or by position for unnamed ones. Integers are decimal strings, bytes hex. */
  args: Record<string, unknown>
  /** An error in words. */
  meaning?: string
  /** Decimals of the token, for an error about token amounts. `args` are in the smallest unit. */
  decimals?: number
  signature?: string
  /** Origin: a standard, or a contract and its publisher. */
  from?: string
}

/** An argument's value as text. */
export function valueText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? String(value)
  return /^-?\d{5,78}$/.test(value) ? BigInt(value).toLocaleString('en') : value
}

const MAX_TEXT = 48

/** For example `transfer(to: 0x12…34, value: 5)`. */
export function namedText({ name, args }: Pick<Named, 'name' | 'args'>): string {
  const short = (text: string) => (text.length > MAX_TEXT ? `${text.slice(0, 20)}…${text.slice(-8)}` : text)
  return `${name}(${Object.entries(args)
    .map(([argument, value]) => `${argument}: ${short(valueText(value))}`)
    .join(', ')})`
}

/** A function, an event or an error by name, as the gateway decodes it: with the request's ABI, or by what everybody uses. */
export interface Named {
  name: string
  /** By name; by position where an argument has none. Integers are decimal texts, bytes hex. */
  args: Record<string, unknown>
  /** Of an error, in words. */
  meaning?: string
  /** Of an error that speaks of a token's amounts: the token's. `args` are in the smallest unit. */
  decimals?: number
  signature?: string
  /** Whose it is: a standard, or a contract and its publisher. */
  from?: string
}

/** A value of an argument as text. */
export function valueText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? String(value)
  return /^-?\d{5,78}$/.test(value) ? BigInt(value).toLocaleString('en') : value
}

const MOST_TEXT = 48

/** `transfer(to: 0x12…34, value: 5)` */
export function namedText({ name, args }: Pick<Named, 'name' | 'args'>): string {
  const short = (text: string) => (text.length > MOST_TEXT ? `${text.slice(0, 20)}…${text.slice(-8)}` : text)
  return `${name}(${Object.entries(args)
    .map(([argument, value]) => `${argument}: ${short(valueText(value))}`)
    .join(', ')})`
}

/** Tolerated clock difference of seller, buyer and chain, in seconds. */
export const CLOCK_SKEW = 60

export type Outcome = 'right' | 'wrong' | 'unchecked'

/** Result of one check. `unchecked`: something needed for it is missing. */
export interface Check {
  name: string
  outcome: Outcome
  /** What was found, what is wrong, or what is missing and what that leaves open. */
  detail: string
}

/** Runs one check. If it throws, the result is `wrong`, or `unchecked` for {@link Unchecked}. */
export async function check(name: string, look: () => Promise<string> | string): Promise<Check> {
  try {
    return { name, outcome: 'right', detail: await look() }
  } catch (error) {
    if (error instanceof Unchecked) return { name, outcome: 'unchecked', detail: error.message }
    return { name, outcome: 'wrong', detail: error instanceof Error ? error.message : String(error) }
  }
}

/** The combined result: `wrong` if any is wrong, `right` if all are right. */
export function verdictOf(checks: readonly Check[]): Outcome {
  const outcomes = new Set(checks.map(({ outcome }) => outcome))
  return outcomes.has('wrong') ? 'wrong' : outcomes.has('unchecked') ? 'unchecked' : 'right'
}

/** Thrown if a check can't be made. The message says what is missing, and what that leaves open. */
export class Unchecked extends Error {
  override readonly name = 'Unchecked'
}

/** @throws Error that names the field */
export function assertEqual(got: unknown, expected: unknown, field: string): void {
  if (got !== expected) throw new Error(`${field}: is ${shown(got)}, should be ${shown(expected)}`)
}

/** Compares hex without regard to case. @throws Error that names the field */
export function assertSameHex(got: unknown, expected: string, field: string): void {
  assertEqual(typeof got === 'string' ? got.toLowerCase() : got, expected.toLowerCase(), field)
}

/** Path of the first difference between two JSON values, such as `[0].calls[1].gasUsed`; undefined if there is none. */
export function firstDifference(one: unknown, other: unknown): string | undefined {
  if (Object.is(one, other)) return undefined
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return ''
  if (Array.isArray(one) !== Array.isArray(other)) return ''
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const below = firstDifference((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name])
    if (below !== undefined) return (Array.isArray(one) ? `[${name}]` : `.${name}`) + below
  }
  return undefined
}

function shown(value: unknown): string {
  return String(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 100)
}

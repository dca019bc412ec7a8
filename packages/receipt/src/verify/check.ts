/** How far the clocks of seller, buyer and chain may differ, seconds. */
export const CLOCK_SKEW = 60

export type Outcome = 'right' | 'wrong' | 'unchecked'

/** The outcome of one part of a verification. `unchecked`: what it needs is missing, and nobody can tell. */
export interface Check {
  name: string
  outcome: Outcome
  /** What was found, where it is wrong, or what is missing and what that leaves open. */
  detail: string
}

/** Runs one check: what it throws makes it wrong. */
export async function check(name: string, look: () => Promise<string> | string): Promise<Check> {
  try {
    return { name, outcome: 'right', detail: await look() }
  } catch (error) {
    if (error instanceof Unchecked) return { name, outcome: 'unchecked', detail: error.message }
    return { name, outcome: 'wrong', detail: error instanceof Error ? error.message : String(error) }
  }
}

/** That of all checks together: wrong where one is, right where all are. */
export function verdictOf(checks: readonly Check[]): Outcome {
  const outcomes = new Set(checks.map(({ outcome }) => outcome))
  return outcomes.has('wrong') ? 'wrong' : outcomes.has('unchecked') ? 'unchecked' : 'right'
}

/** Thrown where a check can't be made. The message says what is missing, and what that leaves open. */
export class Unchecked extends Error {
  override readonly name = 'Unchecked'
}

/** @throws Error that names the field */
export function demandEqual(got: unknown, expected: unknown, field: string): void {
  if (got !== expected) throw new Error(`${field}: is ${shown(got)}, should be ${shown(expected)}`)
}

/** Equal but for upper and lower case. @throws Error that names the field */
export function demandSameHex(got: unknown, expected: string, field: string): void {
  demandEqual(typeof got === 'string' ? got.toLowerCase() : got, expected.toLowerCase(), field)
}

/** Where two JSON values first differ, such as `[0].calls[1].gasUsed`; undefined where they don't. */
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

/** The outcome of one part of a verification. `unchecked`: what it needs is missing. */
export interface Check {
  name: string
  outcome: 'right' | 'wrong' | 'unchecked'
  /** What was found, or where it is wrong. */
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

/** Thrown where a check can't be made. */
export class Unchecked extends Error {
  override readonly name = 'Unchecked'
}

/** @throws Error that names the field */
export function demandEqual(got: unknown, expected: unknown, field: string): void {
  if (got !== expected) throw new Error(`${field}: is ${shown(got)}, should be ${shown(expected)}`)
}

function shown(value: unknown): string {
  return String(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 100)
}

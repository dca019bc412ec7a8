import type { FieldLabel } from './draft-error.js'

/** Typed or pasted JSON. @throws DraftError that names the field */
export function jsonValue(text: string, place: FieldLabel): unknown {
  try {
    return JSON.parse(text, wholeNumbers)
  } catch (error) {
    throw place.error(error instanceof SyntaxError ? 'not JSON' : (error as Error).message)
  }
}

/** A typed or pasted JSON object. @throws DraftError that names the field */
export function jsonObject(text: string, place: FieldLabel): Record<string, unknown> {
  const value = jsonValue(text, place)
  if (!isObject(value)) throw place.error('not an object')
  return value
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reviver for `JSON.parse` that rejects numbers too large to be exact. @throws Error */
export function wholeNumbers(_name: string, value: unknown): unknown {
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new Error(`write ${value} in quotes: JSON numbers keep only 15 digits`)
  return value
}

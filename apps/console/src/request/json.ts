import { DraftError } from './draft-error.js'

/** A typed or pasted JSON object. @throws DraftError that names the field */
export function jsonObject(text: string, field: string): object {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new DraftError(`${field}: not JSON`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DraftError(`${field}: not an object`)
  return value
}

/** For `JSON.parse`: refuses numbers that lost digits as they were read. @throws Error */
export function wholeNumbers(_name: string, value: unknown): unknown {
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new Error(`write ${value} in quotes: JSON's numbers hold 15 digits`)
  return value
}

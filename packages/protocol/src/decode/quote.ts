const EXCERPT = 66

/** An input value as error messages may show it: one line, at most about 80 characters, without lone surrogates. */
export function quote(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'a number out of range'
  if (typeof value === 'string') {
    if (value.length <= EXCERPT) return JSON.stringify(value)
    return `${JSON.stringify(value.slice(0, EXCERPT - 16)).slice(0, -1)}…" (${value.length} characters)`
  }
  return Array.isArray(value) ? 'an array' : 'an object'
}

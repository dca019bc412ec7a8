/** @throws Error that names the field */
export function decodeObject(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${field}: expected an object`)
  }
  return value as Record<string, unknown>
}

/** @throws Error that names the field */
export function decodeList(value: unknown, field: string): unknown[] {
  if (!Array.isArray(value)) throw new Error(`${field}: expected a list`)
  return value
}

/** @throws Error that names the field */
export function decodeText(value: unknown, pattern: RegExp, field: string): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw new Error(`${field}: expected ${pattern.source}, got ${quoted(value)}`)
}

/** A safe integer that is not negative. @throws Error that names the field */
export function decodeInteger(value: unknown, field: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw new Error(`${field}: expected a whole number`)
}

/** @throws Error that names the first field that is not in `names` */
export function refuseOthers(value: object, names: readonly string[], field: string): void {
  const unknown = Object.keys(value).find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`${field}: unknown field ${quoted(unknown)}`)
}

function quoted(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, 80)
}

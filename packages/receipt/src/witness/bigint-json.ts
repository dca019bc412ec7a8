/** Converts bigints for JSON: `12n` becomes `"12n"`. The value must not contain such strings otherwise. */
export function bigintsToJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, field) => (typeof field === 'bigint' ? `${field}n` : field)))
}

/** Inverse of `bigintsToJson`. */
export function bigintsFromJson(value: unknown): unknown {
  if (typeof value === 'string') return /^-?\d{1,78}n$/.test(value) ? BigInt(value.slice(0, -1)) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(bigintsFromJson)
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, bigintsFromJson(field)]))
}

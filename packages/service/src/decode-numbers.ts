/** The default, minimum and maximum of each number, by name. */
export type NumberFields<Field extends string = string> = Readonly<
  Record<Field, readonly [usual: number, least: number, most?: number]>
>

/** The default of each field. */
export function defaultNumbers<Field extends string>(fields: NumberFields<Field>): Record<Field, number> {
  const all: NumberFields = fields
  return Object.fromEntries(Object.entries(all).map(([field, [usual]]) => [field, usual])) as Record<Field, number>
}

/** Parses a setting that is a JSON object. It may hold a key, so errors never quote it. @throws Error with `shape` as its message */
export function settingObject(text: string, shape: string): Record<string, unknown> {
  try {
    const given: unknown = JSON.parse(text)
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Record<string, unknown>
  } catch {
    // Ignored: the parser's message would quote the text.
  }
  throw new Error(shape)
}

/**
 * Parses a setting that is a JSON object of numbers; fields left out keep their defaults.
 * @param setting its name, for errors
 * @throws Error with one line per wrong field
 */
export function decodeNumbers<Field extends string>(
  setting: string,
  fields: NumberFields<Field>,
  text: string,
): Record<Field, number> {
  const [example = ''] = Object.keys(fields)
  const shape = `expected a JSON object such as {"${example}": 500}`
  const given = settingObject(text, shape)
  const problems = Object.entries(given).flatMap(([field, value]) => validateField(setting, fields, field, value))
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return { ...defaultNumbers(fields), ...(given as Partial<Record<Field, number>>) }
}

function validateField(setting: string, fields: NumberFields, field: string, value: unknown): string[] {
  if (!Object.hasOwn(fields, field))
    return [`${setting}.${field}: unknown field; known fields: ${Object.keys(fields).join(', ')}`]
  const [, least, most = Number.MAX_SAFE_INTEGER] = fields[field] as NonNullable<NumberFields[string]>
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return []
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`
  return [`${setting}.${field}: expected a whole number ${range}`]
}

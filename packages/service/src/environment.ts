import 'reflect-metadata'
import { type ClassConstructor, plainToInstance } from 'class-transformer'
import { type ValidationError, validateSync } from 'class-validator'

export type Variables = Readonly<Record<string, string | undefined>>

/** Lists every variable that is wrong or missing, one per line. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError'
  constructor(readonly problems: readonly string[]) {
    super(`The environment is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  }
}

export interface ReadingOptions {
  /** Variables whose values are never shown in errors. */
  secrets?: readonly string[]
  /** Problems that the caller found itself. */
  problems?: readonly string[]
  /** Settings that were removed, each with the text that says what replaces it. */
  gone?: Readonly<Record<string, string>>
  /** Settings that became fields of `LIMITS`: the field of each. They are still read, with a warning. */
  moved?: Readonly<Record<string, string>>
}

/**
 * Reads `variables` into an instance of a class whose fields are named like the variables and carry class-validator's rules. An empty
 * variable counts as unset.
 * @throws EnvironmentError
 * @example
 * class Environment {
 *   @IsPort()
 *   GATEWAY_PORT = 8080
 * }
 * readEnvironment(Environment, process.env).GATEWAY_PORT
 */
export function readEnvironment<T extends object>(
  settings: ClassConstructor<T>,
  variables: Variables,
  { secrets = [], problems = [], gone = {}, moved = {} }: ReadingOptions = {},
): T {
  const given = Object.entries(variables).filter(([, value]) => value !== undefined && value !== '')
  const left = given.flatMap(([name]) =>
    Object.hasOwn(gone, name) ? [`${name}: has been removed: ${gone[name]}`] : [],
  )
  const environment = plainToInstance(settings, moveIntoLimits(Object.fromEntries(given), moved))
  const errors = validateSync(environment, { stopAtFirstError: true, whitelist: true })
  const found = [...errors.flatMap((error) => describe(error, secrets)), ...left, ...problems]
  if (found.length > 0) throw new EnvironmentError(found)
  return environment
}

/** Moves the old variables into `LIMITS`; a field that `LIMITS` sets itself wins. */
function moveIntoLimits(
  given: Record<string, unknown>,
  moved: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const old = Object.keys(given).filter((name) => Object.hasOwn(moved, name))
  if (old.length === 0) return given
  const limits = parseJson(given.LIMITS ?? '{}')
  // If it is no object, the decoder of LIMITS refuses it.
  if (typeof limits !== 'object' || limits === null || Array.isArray(limits)) return given
  for (const name of old)
    process.emitWarning(`${name} is ${moved[name]} of LIMITS now`, {
      type: 'DeprecationWarning',
      code: 'UPFRONT_MOVED',
    })
  const fields = old.map((name) => [moved[name], parseNumber(given[name])])
  return { ...given, LIMITS: JSON.stringify({ ...Object.fromEntries(fields), ...limits }) }
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return null
  }
}

function parseNumber(text: unknown): unknown {
  if (text === 'off') return 0
  return /^\d+$/.test(String(text)) ? Number(text) : text
}

function describe({ property, value, constraints }: ValidationError, secrets: readonly string[]): string[] {
  const reason = Object.values(constraints ?? {})[0] ?? 'is not valid'
  const shown = typeof value === 'string' && !secrets.includes(property) ? ` (got ${JSON.stringify(value)})` : ''
  return reason.split('\n').map((line) => {
    const name = line.startsWith(property) && !line.startsWith(`${property} `) ? '' : `${property}: `
    return `${name}${line.replace(`${property} `, '')}${shown}`
  })
}

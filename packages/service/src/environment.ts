import 'reflect-metadata'
import { type ClassConstructor, plainToInstance } from 'class-transformer'
import { type ValidationError, validateSync } from 'class-validator'

export type Variables = Readonly<Record<string, string | undefined>>

/** Names every variable that is wrong or missing, one line each. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError'
  constructor(readonly problems: readonly string[]) {
    super(`The environment is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  }
}

export interface ReadingOptions {
  /** Variables whose values no error repeats. */
  secrets?: readonly string[]
  /** What the caller found wrong itself. */
  problems?: readonly string[]
  /** Variables that were settings once, and what took the place of each. */
  gone?: Readonly<Record<string, string>>
}

/**
 * The settings that `variables` hold, as an instance of a class whose fields are named as the variables and carry
 * class-validator's rules. An empty variable counts as unset.
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
  { secrets = [], problems = [], gone = {} }: ReadingOptions = {},
): T {
  const given = Object.entries(variables).filter(([, value]) => value !== undefined && value !== '')
  const left = given.flatMap(([name]) =>
    Object.hasOwn(gone, name) ? [`${name}: is no setting any more: ${gone[name]}`] : [],
  )
  const environment = plainToInstance(settings, Object.fromEntries(given))
  const errors = validateSync(environment, { stopAtFirstError: true, whitelist: true })
  const found = [...errors.flatMap((error) => describe(error, secrets)), ...left, ...problems]
  if (found.length > 0) throw new EnvironmentError(found)
  return environment
}

function describe({ property, value, constraints }: ValidationError, secrets: readonly string[]): string[] {
  const reason = Object.values(constraints ?? {})[0] ?? 'is not valid'
  const shown = typeof value === 'string' && !secrets.includes(property) ? ` (got ${JSON.stringify(value)})` : ''
  return reason.split('\n').map((line) => {
    const name = line.startsWith(property) && !line.startsWith(`${property} `) ? '' : `${property}: `
    return `${name}${line.replace(`${property} `, '')}${shown}`
  })
}

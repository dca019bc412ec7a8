import 'reflect-metadata'
import { plainToInstance, Type } from 'class-transformer'
import { IsInt, IsNotEmpty, IsUrl, Matches, Max, Min, validateSync } from 'class-validator'

export class Environment {
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(65_535)
  PORT = 8082

  /** CAIP-2. */
  @Matches(/^eip155:[1-9]\d*$/, { message: 'NETWORK must be a CAIP-2 network such as eip155:8453' })
  NETWORK!: `eip155:${number}`

  /** Address of the token. Billing knows its decimals. */
  @Matches(/^0x[0-9a-fA-F]{40}$/, { message: 'ASSET must be a token address' })
  ASSET!: string

  @Matches(/^0x[0-9a-fA-F]{40}$/, { message: 'PAY_TO must be an address' })
  PAY_TO!: string

  @IsUrl({ require_tld: false, require_protocol: true, protocols: ['http', 'https'] })
  BILLING_URL!: string

  @IsNotEmpty()
  BILLING_TOKEN!: string

  /** Directory for charges that billing has not acknowledged. Without it they are lost when the process ends. */
  JOURNAL_DIR?: string

  /** How long a buyer waits for its payment to be mined, in milliseconds, before it is told that the payment is pending. */
  @Type(() => Number)
  @IsInt()
  @Min(0)
  RECEIPT_WAIT_MS = 10_000

  /** How long a buyer waits while billing does not answer a charge, in milliseconds. */
  @Type(() => Number)
  @IsInt()
  @Min(0)
  ACKNOWLEDGEMENT_WAIT_MS = 5_000
}

const KNOWN = [
  ...['PORT', 'NETWORK', 'ASSET', 'PAY_TO', 'BILLING_URL', 'BILLING_TOKEN', 'JOURNAL_DIR'],
  ...['RECEIPT_WAIT_MS', 'ACKNOWLEDGEMENT_WAIT_MS'],
]

/** All variables with their defaults, one per line. */
export function settingsHelp(): string {
  const defaults = new Environment() as unknown as Record<string, unknown>
  const lines = KNOWN.map((name) => `  ${name.padEnd(24)}${defaults[name] ?? ''}`.trimEnd())
  return `Settings are environment variables; these are their defaults:\n${lines.join('\n')}\nREADME.md says what each means.`
}

/** @throws Error that names every missing or invalid variable */
export function readEnvironment(variables: Readonly<Record<string, string | undefined>>): Environment {
  const names = KNOWN.filter((name) => variables[name])
  const environment = plainToInstance(Environment, Object.fromEntries(names.map((name) => [name, variables[name]])))
  const problems = validateSync(environment, { stopAtFirstError: true }).flatMap(({ constraints }) =>
    Object.values(constraints ?? {}),
  )
  if (problems.length > 0) throw new Error(`The environment is not valid:\n  ${problems.join('\n  ')}`)
  return environment
}

import { readFileSync } from 'node:fs'
import { plainToInstance, Transform } from 'class-transformer'
import { IsIn, IsInt, IsNotEmpty, IsOptional, IsString, Matches, Max, Min, validateSync } from 'class-validator'
import { type ChainSettings, parseChains } from './chains.js'
import { parseSignerKeys, type SignerKey } from './signer-keys.js'

/** Everything that billing is configured with. Holds secrets: never log it. */
export interface BillingEnvironment {
  port: number
  host: string
  token: string
  signers: SignerKey[]
  chains: ChainSettings[]
  /** Postgres where given; else PGlite in `dataDirectory`. */
  databaseUrl?: string
  dataDirectory: string
  /** The longest that a charge waits for its receipt before it is answered as pending. */
  receiptWaitMilliseconds: number
  nodeTimeoutMilliseconds: number
  /** How often payments that are not final are looked up. */
  recoveryIntervalMilliseconds: number
  /** How long a transaction may stay unmined before its fee is raised. */
  feeBumpMilliseconds: number
  logLevel: string
}

/** Names every variable that is wrong. Never quotes a value: it may be a secret. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError'
  constructor(readonly problems: readonly string[]) {
    super(`The environment is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  }
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

const Integer = (fallback: number) =>
  Transform(({ value }) => (value === undefined ? fallback : /^[0-9]+$/.test(String(value)) ? Number(value) : value))

class Variables {
  @Integer(8081)
  @IsInt({ message: 'BILLING_PORT: must be an integer' })
  @Min(0, { message: 'BILLING_PORT: must be at least 0' })
  @Max(65_535, { message: 'BILLING_PORT: must be at most 65535' })
  BILLING_PORT!: number

  @IsOptional()
  @Matches(/^\S+$/, { message: 'BILLING_HOST: must be a host name or an address' })
  BILLING_HOST?: string

  @IsString({ message: 'BILLING_TOKEN: must be set' })
  @Matches(/^[\x21-\x7e]+$/, { message: 'BILLING_TOKEN: must be printable ASCII without blanks' })
  BILLING_TOKEN!: string

  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'DATABASE_URL: must begin with postgres:// or postgresql://' })
  DATABASE_URL?: string

  @IsOptional()
  @IsNotEmpty({ message: 'BILLING_DATA_DIR: must be a path' })
  BILLING_DATA_DIR?: string

  @Integer(1)
  @IsInt({ message: 'CONFIRMATIONS: must be an integer' })
  @Min(1, { message: 'CONFIRMATIONS: must be at least 1' })
  @Max(1_000, { message: 'CONFIRMATIONS: must be at most 1000' })
  CONFIRMATIONS!: number

  @Integer(30_000)
  @IsInt({ message: 'RECEIPT_WAIT_MS: must be an integer' })
  @Max(300_000, { message: 'RECEIPT_WAIT_MS: must be at most 300000' })
  RECEIPT_WAIT_MS!: number

  @Integer(5_000)
  @IsInt({ message: 'NODE_TIMEOUT_MS: must be an integer' })
  @Min(100, { message: 'NODE_TIMEOUT_MS: must be at least 100' })
  @Max(120_000, { message: 'NODE_TIMEOUT_MS: must be at most 120000' })
  NODE_TIMEOUT_MS!: number

  @Integer(3_000)
  @IsInt({ message: 'RECOVERY_INTERVAL_MS: must be an integer' })
  @Min(50, { message: 'RECOVERY_INTERVAL_MS: must be at least 50' })
  @Max(600_000, { message: 'RECOVERY_INTERVAL_MS: must be at most 600000' })
  RECOVERY_INTERVAL_MS!: number

  @Integer(20_000)
  @IsInt({ message: 'FEE_BUMP_MS: must be an integer' })
  @Min(500, { message: 'FEE_BUMP_MS: must be at least 500' })
  @Max(3_600_000, { message: 'FEE_BUMP_MS: must be at most 3600000' })
  FEE_BUMP_MS!: number

  @IsOptional()
  @IsIn(LOG_LEVELS, { message: `LOG_LEVEL: must be one of ${LOG_LEVELS.join(', ')}` })
  LOG_LEVEL?: string
}

const VARIABLE_NAMES = [
  'BILLING_PORT',
  'BILLING_HOST',
  'BILLING_TOKEN',
  'DATABASE_URL',
  'BILLING_DATA_DIR',
  'CONFIRMATIONS',
  'RECEIPT_WAIT_MS',
  'NODE_TIMEOUT_MS',
  'RECOVERY_INTERVAL_MS',
  'FEE_BUMP_MS',
  'LOG_LEVEL',
] as const

/** Reads the environment. Throws {@link EnvironmentError} with all its problems at once. An empty variable is an unset one. */
export function readEnvironment(environment: NodeJS.ProcessEnv): BillingEnvironment {
  const given = (name: string) => (environment[name] === '' ? undefined : environment[name])
  const variables = plainToInstance(Variables, Object.fromEntries(VARIABLE_NAMES.map((name) => [name, given(name)])))
  const problems = validateSync(variables).flatMap((error) => Object.values(error.constraints ?? {}).slice(-1))
  const collect = <T>(read: () => T, fallback: T): T => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof EnvironmentError)) throw error
      problems.push(...error.problems)
      return fallback
    }
  }
  const signers = collect(() => readSignerKeys(given), [])
  const chains = collect(() => parseChains(given('CHAINS'), variables.CONFIRMATIONS), [])
  if (problems.length > 0) throw new EnvironmentError(problems)
  return {
    port: variables.BILLING_PORT,
    host: variables.BILLING_HOST ?? '127.0.0.1',
    token: variables.BILLING_TOKEN,
    signers,
    chains,
    ...(variables.DATABASE_URL === undefined ? {} : { databaseUrl: variables.DATABASE_URL }),
    dataDirectory: variables.BILLING_DATA_DIR ?? '.data/billing',
    receiptWaitMilliseconds: variables.RECEIPT_WAIT_MS,
    nodeTimeoutMilliseconds: variables.NODE_TIMEOUT_MS,
    recoveryIntervalMilliseconds: variables.RECOVERY_INTERVAL_MS,
    feeBumpMilliseconds: variables.FEE_BUMP_MS,
    logLevel: variables.LOG_LEVEL ?? 'info',
  }
}

function readSignerKeys(given: (name: string) => string | undefined): SignerKey[] {
  const inline = given('FACILITATOR_PRIVATE_KEYS')
  const file = given('FACILITATOR_PRIVATE_KEYS_FILE')
  if (inline !== undefined && file !== undefined) {
    throw new EnvironmentError(['FACILITATOR_PRIVATE_KEYS: set it or FACILITATOR_PRIVATE_KEYS_FILE, not both'])
  }
  if (inline !== undefined) return parseSignerKeys(inline, 'FACILITATOR_PRIVATE_KEYS')
  if (file === undefined) {
    throw new EnvironmentError(['FACILITATOR_PRIVATE_KEYS: must be set (or FACILITATOR_PRIVATE_KEYS_FILE)'])
  }
  return parseSignerKeys(readKeyFile(file), 'FACILITATOR_PRIVATE_KEYS_FILE')
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable'
    throw new EnvironmentError([`FACILITATOR_PRIVATE_KEYS_FILE: can't be read (${code})`])
  }
}

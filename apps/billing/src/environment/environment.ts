import {
  Decoded,
  IsHttpUrl,
  IsLogLevel,
  IsPort,
  IsWholeNumber,
  Listed,
  type LogLevel,
  readEnvironment,
  type Variables,
} from '@upfront/service'
import { IsIn, IsOptional, Matches, ValidateIf } from 'class-validator'
import { type ChainSettings, decodeChains } from './chain-settings.js'
import { DEFAULT_LIMITS, decodeLimits, type Limits } from './limits.js'
import { decodeSignerKeys, readSignerKeyFile, type SignerKey } from './signer-keys.js'

/** All settings of billing, each an environment variable of the same name; documented in README.md. Contains secrets: never log it. */
export class Environment {
  @Listed('usual')
  @IsPort()
  BILLING_PORT = 8081

  @Listed('usual')
  @Matches(/^\S+$/, { message: 'must be a host name or an address' })
  BILLING_HOST = '127.0.0.1'

  @Listed('needed')
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be set to printable ASCII characters without blanks' })
  BILLING_TOKEN!: string

  /** Token with access to the seller's view only. */
  @Listed('usual')
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be printable ASCII without blanks' })
  BILLING_READ_TOKEN?: string

  @Listed('needed')
  @ValidateIf(({ FACILITATOR_PRIVATE_KEYS, FACILITATOR_PRIVATE_KEYS_FILE }: Environment) => {
    return FACILITATOR_PRIVATE_KEYS !== undefined || FACILITATOR_PRIVATE_KEYS_FILE === undefined
  })
  @Decoded(decodeSignerKeys)
  FACILITATOR_PRIVATE_KEYS?: SignerKey[]

  /** A file with the same content. */
  @Listed('needed')
  @IsOptional()
  @Decoded(readSignerKeyFile)
  FACILITATOR_PRIVATE_KEYS_FILE?: SignerKey[]

  @Listed('needed')
  @Decoded(decodeChains)
  CHAINS!: ChainSettings[]

  /** Postgres. Without it: PGlite in `BILLING_DATA_DIR`. */
  @Listed('needed')
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'must begin with postgres:// or postgresql://' })
  DATABASE_URL?: string

  @Matches(/\S/, { message: 'must be a path' })
  BILLING_DATA_DIR = '.data/billing'

  /** Settle each payment in its own transaction, or many in one if the signer's account can be delegated. */
  @Listed('usual')
  @IsIn(['single', 'batch'])
  SETTLEMENT: 'single' | 'batch' = 'single'

  /** Confirmations, including the transaction's own block, before a payment counts as `settled`. Overridden per chain in `CHAINS`. */
  @Listed('usual')
  @IsWholeNumber(1, 1_000)
  CONFIRMATIONS = 1

  /** The fields of `LIMITS` that differ from the defaults. */
  @Decoded(decodeLimits)
  LIMITS: Limits = DEFAULT_LIMITS

  @Listed('usual')
  @IsLogLevel()
  LOG_LEVEL: LogLevel = 'info'

  /** Endpoint for traces. Without it nothing is traced. */
  @IsOptional()
  @IsHttpUrl()
  OTEL_EXPORTER_OTLP_ENDPOINT?: string

  get signers(): readonly SignerKey[] {
    return this.FACILITATOR_PRIVATE_KEYS ?? this.FACILITATOR_PRIVATE_KEYS_FILE ?? []
  }
}

const SECRETS = [
  'BILLING_TOKEN',
  'BILLING_READ_TOKEN',
  'FACILITATOR_PRIVATE_KEYS',
  'FACILITATOR_PRIVATE_KEYS_FILE',
  'CHAINS',
  'DATABASE_URL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
]

/** Former settings that are now fields of `LIMITS`. */
const MOVED: Readonly<Record<string, keyof Limits>> = {
  RECEIPT_WAIT_MS: 'receiptWaitMs',
  NODE_TIMEOUT_MS: 'nodeTimeoutMs',
  RECOVERY_INTERVAL_MS: 'recoveryMs',
  RECONCILE_INTERVAL_MS: 'reconcileMs',
  FEE_BUMP_MS: 'feeBumpMs',
  IN_FLIGHT_PER_SIGNER: 'inFlightPerSigner',
  SIGNER_MIN_SETTLEMENTS: 'minSettlements',
  SETTLEMENT_BATCH_SIZE: 'batchSize',
  SETTLEMENT_BATCH_INTERVAL_MS: 'batchIntervalMs',
}

/** Removed settings and their replacements. */
const GONE: Readonly<Record<string, string>> = {
  OPEN_FACILITATOR: 'create seller accounts with `npm run sellers`',
}

/**
 * Reads the settings from `variables`; an empty variable counts as unset.
 * @throws EnvironmentError that names every invalid variable without quoting secrets
 */
export function readBillingEnvironment(variables: Variables): Environment {
  const both = variables.FACILITATOR_PRIVATE_KEYS && variables.FACILITATOR_PRIVATE_KEYS_FILE
  const problems = both ? ['FACILITATOR_PRIVATE_KEYS: set it or FACILITATOR_PRIVATE_KEYS_FILE, not both'] : []
  if (variables.BILLING_READ_TOKEN && variables.BILLING_READ_TOKEN === variables.BILLING_TOKEN)
    problems.push('BILLING_READ_TOKEN: must not be BILLING_TOKEN, which may do everything')
  return readEnvironment(Environment, variables, { secrets: SECRETS, problems, gone: GONE, moved: MOVED })
}

import {
  Decoded,
  IsHttpUrl,
  IsLogLevel,
  IsPort,
  IsWholeNumber,
  type LogLevel,
  readEnvironment,
  type Variables,
} from '@upfront/service'
import { IsIn, IsOptional, Matches, ValidateIf } from 'class-validator'
import { type ChainSettings, decodeChains, MOST_BATCH_ITEMS } from './chain-settings.js'
import { decodeSignerKeys, readSignerKeyFile, type SignerKey } from './signer-keys.js'

/** Every setting of billing, each an environment variable of the same name; README.md has the table. Holds secrets: never log it. */
export class Environment {
  @IsPort()
  BILLING_PORT = 8081

  @Matches(/^\S+$/, { message: 'must be a host name or an address' })
  BILLING_HOST = '127.0.0.1'

  @Matches(/^[\x21-\x7e]+$/, { message: 'must be set: printable ASCII without blanks' })
  BILLING_TOKEN!: string

  /** Opens the seller's view and nothing else. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be printable ASCII without blanks' })
  BILLING_READ_TOKEN?: string

  @ValidateIf(({ FACILITATOR_PRIVATE_KEYS, FACILITATOR_PRIVATE_KEYS_FILE }: Environment) => {
    return FACILITATOR_PRIVATE_KEYS !== undefined || FACILITATOR_PRIVATE_KEYS_FILE === undefined
  })
  @Decoded(decodeSignerKeys)
  FACILITATOR_PRIVATE_KEYS?: SignerKey[]

  /** A file that holds the same. */
  @IsOptional()
  @Decoded(readSignerKeyFile)
  FACILITATOR_PRIVATE_KEYS_FILE?: SignerKey[]

  @Decoded(decodeChains)
  CHAINS!: ChainSettings[]

  /** Postgres; else PGlite in `BILLING_DATA_DIR`. */
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'must begin with postgres:// or postgresql://' })
  DATABASE_URL?: string

  @Matches(/\S/, { message: 'must be a path' })
  BILLING_DATA_DIR = '.data/billing'

  /** Blocks, the transaction's own included, before a settlement counts, where `CHAINS` gives none. */
  @IsWholeNumber(1, 1_000)
  CONFIRMATIONS = 1

  /** The longest that a charge waits for its receipt before it is answered as pending. */
  @IsWholeNumber(0, 300_000)
  RECEIPT_WAIT_MS = 30_000

  @IsWholeNumber(100, 120_000)
  NODE_TIMEOUT_MS = 5_000

  /** Transactions of one signer that may wait to be mined: reth's pool takes 16 of one sender, geth's is sure of 16. */
  @IsWholeNumber(1, 1_000)
  IN_FLIGHT_PER_SIGNER = 16

  /** Whether each payment is settled by a transaction of its own, or many by one where the signer's account can be delegated. */
  @IsIn(['single', 'batch'])
  SETTLEMENT: 'single' | 'batch' = 'single'

  /** The most payments in one transaction. */
  @IsWholeNumber(2, MOST_BATCH_ITEMS)
  SETTLEMENT_BATCH_SIZE = 50

  /** At least so far apart are two batches of one signer, so that payments gather; a batch also waits until the one before is mined. */
  @IsWholeNumber(0, 60_000)
  SETTLEMENT_BATCH_INTERVAL_MS = 1_000

  /** How often payments that are not final are looked up. */
  @IsWholeNumber(50, 600_000)
  RECOVERY_INTERVAL_MS = 3_000

  /** How often the next final blocks of each chain are compared with the ledger. */
  @IsWholeNumber(100, 3_600_000)
  RECONCILE_INTERVAL_MS = 60_000

  /** How long a transaction may stay unmined before its fee is raised. */
  @IsWholeNumber(500, 3_600_000)
  FEE_BUMP_MS = 20_000

  /** Below so many settlements that a signer can pay for, authorizations for it are refused. */
  @IsWholeNumber(0, 1_000_000)
  SIGNER_MIN_SETTLEMENTS = 10

  @IsLogLevel()
  LOG_LEVEL: LogLevel = 'info'

  /** Where spans are sent; nothing is traced without it. */
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
]

/**
 * The settings that `variables` hold; one that is empty counts as unset.
 * @throws EnvironmentError that names every variable that is wrong, and quotes no secret
 */
export function readBillingEnvironment(variables: Variables): Environment {
  const both = variables.FACILITATOR_PRIVATE_KEYS && variables.FACILITATOR_PRIVATE_KEYS_FILE
  const problems = both ? ['FACILITATOR_PRIVATE_KEYS: set it or FACILITATOR_PRIVATE_KEYS_FILE, not both'] : []
  if (variables.BILLING_READ_TOKEN && variables.BILLING_READ_TOKEN === variables.BILLING_TOKEN)
    problems.push('BILLING_READ_TOKEN: must not be BILLING_TOKEN, which may do everything')
  return readEnvironment(Environment, variables, { secrets: SECRETS, problems })
}

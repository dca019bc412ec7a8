import 'reflect-metadata'
import { DIALECTS, type Dialect } from '@upfront/protocol'
import { plainToInstance, Transform, type TransformFnParams } from 'class-transformer'
import {
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  Validate,
  ValidateIf,
  validateSync,
} from 'class-validator'
import { GenesisFile, HttpUrl, PassthroughMethods, PriceListJson, UpstreamUrls } from './environment-rules.js'
import { DEFAULT_PRICE_LIST } from './paid/price-list.js'
import { DEFAULT_PASSTHROUGH_METHODS } from './passthrough-methods.js'

const wholeNumber = ({ value }: TransformFnParams): unknown =>
  typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
const list = ({ value }: TransformFnParams): unknown =>
  typeof value === 'string' ? (value === 'none' ? [] : value.split(',').map((entry) => entry.trim())) : value
const numberOr =
  (word: string, meaning: number) =>
  ({ value, ...rest }: TransformFnParams): unknown =>
    value === word ? meaning : wholeNumber({ value, ...rest })

/** Every setting of the gateway, each an environment variable of the same name; README.md has the table. */
export class Environment {
  @Transform(list)
  @Validate(UpstreamUrls)
  UPSTREAM_RPC_URL!: string[]

  @Transform(wholeNumber)
  @IsInt()
  @Min(0)
  @Max(65_535)
  GATEWAY_PORT = 8080

  @IsString()
  GATEWAY_HOST = '127.0.0.1'

  @IsIn(['auto', 'revm', 'ethereumjs'])
  EVM_ENGINE: 'auto' | 'revm' | 'ethereumjs' = 'auto'

  @IsOptional()
  @Validate(GenesisFile)
  CHAIN_GENESIS_FILE?: string

  @IsOptional()
  @Transform(wholeNumber)
  @IsInt()
  @Min(1)
  @Max(86_400)
  BLOCK_TIME_SECONDS?: number

  @IsIn(DIALECTS)
  DIALECT: Dialect = 'upfront'

  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
  LOG_LEVEL: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent' = 'info'

  @Transform(list)
  @Validate(PassthroughMethods)
  PASSTHROUGH_METHODS: string[] = DEFAULT_PASSTHROUGH_METHODS

  /** Flashblocks streams, tried in turn; with one, `pending` is the block under construction. */
  @IsOptional()
  @Transform(list)
  @IsArray()
  @Matches(/^wss?:\/\/[^\s/]+/, { each: true })
  FLASHBLOCKS_WS_URL?: string[]

  /** A stream without a flashblock for so long is given up for the next. */
  @Transform(wholeNumber)
  @IsInt()
  @Min(250)
  FLASHBLOCKS_SILENCE_MS = 2_000

  /** One message of the stream, decompressed. */
  @Transform(wholeNumber)
  @IsInt()
  @Min(1_024)
  @Max(64 * 1024 * 1024)
  FLASHBLOCKS_MAX_MESSAGE_BYTES = 16 * 1024 * 1024

  /** Requests per second and client; 0 is off. */
  @Transform(numberOr('off', 0))
  @IsInt()
  @Min(0)
  FREE_RATE_LIMIT = 50

  /** Gas of one `eth_simulateV1` on the free endpoint, all calls together. */
  @Transform(wholeNumber)
  @IsInt()
  @Min(21_000)
  FREE_GAS_CAP = 50_000_000

  @Transform(wholeNumber)
  @IsInt()
  @Min(1)
  MAX_CALLS_PER_BLOCK = 5_000

  /** Of all blocks of a request together. */
  @Transform(wholeNumber)
  @IsInt()
  @Min(1)
  MAX_CALLS = 10_000

  @Transform(wholeNumber)
  @IsInt()
  @Min(1_024)
  @Max(256 * 1024 * 1024)
  MAX_BODY_BYTES = 30 * 1024 * 1024

  /** All bodies that are being received or worked on, together. */
  @Transform(wholeNumber)
  @IsInt()
  @Min(1_024)
  MAX_BUFFERED_BYTES = 256 * 1024 * 1024

  @Transform(wholeNumber)
  @IsInt()
  @Min(100)
  MAX_JSON_VALUES = 300_000

  @Transform(wholeNumber)
  @IsInt()
  @Min(1_024)
  @Max(256 * 1024 * 1024)
  MAX_ANSWER_BYTES = 64 * 1024 * 1024

  @Transform(wholeNumber)
  @IsInt()
  @Min(1)
  MAX_BATCH_LENGTH = 100

  @Transform(wholeNumber)
  @IsInt()
  @Min(10)
  REQUEST_TIMEOUT_MS = 15_000

  @Transform(wholeNumber)
  @IsInt()
  @Min(10)
  BODY_TIMEOUT_MS = 30_000

  @Transform(wholeNumber)
  @IsInt()
  @Min(1)
  MAX_UPSTREAM_READS = 5_000

  @Transform(wholeNumber)
  @IsInt()
  @Min(1)
  MAX_IN_FLIGHT = 64

  @Transform(wholeNumber)
  @IsInt()
  @Min(0)
  MAX_QUEUED = 1_024

  @Transform(wholeNumber)
  @IsInt()
  @Min(100)
  SHUTDOWN_TIMEOUT_MS = 20_000

  /** 0 is off. Absent: a minute, on chains that are known by their id. */
  @IsOptional()
  @Transform(numberOr('off', 0))
  @IsInt()
  @Min(0)
  HEAD_MAX_AGE_SECONDS?: number

  /** Proxies whose `X-Forwarded-For` names the client: addresses or CIDR ranges. */
  @IsOptional()
  @Transform(list)
  @IsArray()
  @Matches(/^([0-9a-fA-F.:]+(\/\d{1,3})?|loopback|linklocal|uniquelocal)$/, { each: true })
  TRUSTED_PROXIES?: string[]

  /** Web origins that may call from a browser, or `*`. */
  @IsOptional()
  @Transform(list)
  @IsArray()
  @Matches(/^(\*|https?:\/\/[^\s/,]+)$/, { each: true })
  CORS_ORIGINS?: string[]

  /** Where billing listens. With it the paid routes are served, and the five settings that follow are needed. */
  @IsOptional()
  @Validate(HttpUrl)
  BILLING_URL?: string

  @ValidateIf(sells)
  @IsString({ message: 'is missing: the service token of the billing at BILLING_URL' })
  BILLING_TOKEN?: string

  /** Where charges wait that billing has not acknowledged; without it they are lost with the process. */
  @IsOptional()
  @IsString()
  CHARGE_JOURNAL_DIR?: string

  /** CAIP-2: where buyers pay. */
  @ValidateIf(sells)
  @Matches(/^eip155:[1-9]\d{0,15}$/, { message: 'expected a CAIP-2 network such as eip155:8453' })
  NETWORK?: `eip155:${number}`

  /** The token in which buyers pay. */
  @ValidateIf(sells)
  @Matches(/^0x[0-9a-fA-F]{40}$/, { message: 'expected the address of a token' })
  ASSET?: string

  @ValidateIf(sells)
  @Matches(/^0x[0-9a-fA-F]{40}$/, { message: 'expected the address that is paid' })
  PAY_TO?: string

  /** JSON: see `paid/price-list.ts`. */
  @Validate(PriceListJson)
  PRICE_LIST = JSON.stringify(DEFAULT_PRICE_LIST)

  /** Gas of one paid simulation. */
  @Transform(wholeNumber)
  @IsInt()
  @Min(21_000)
  PAID_GAS_CAP = 250_000_000

  @Transform(wholeNumber)
  @IsInt()
  @Min(1)
  PAID_UPSTREAM_READS = 20_000

  @Transform(wholeNumber)
  @IsInt()
  @Min(10)
  @Max(120_000)
  PAID_TIMEOUT_MS = 30_000
}

function sells({ BILLING_URL }: Environment): boolean {
  return BILLING_URL !== undefined
}

/** These may hold keys: an error does not repeat them. */
const SECRETS = new Set(['UPSTREAM_RPC_URL', 'FLASHBLOCKS_WS_URL', 'BILLING_URL', 'BILLING_TOKEN'])

/** Names every variable that is wrong or missing, one line each. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError'
  constructor(readonly problems: string[]) {
    super(`The environment is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  }
}

/**
 * The settings that `variables` hold; one that is empty counts as unset.
 * @throws EnvironmentError
 */
export function readEnvironment(variables: Readonly<Record<string, string | undefined>>): Environment {
  const known = Object.keys(variables).filter((name) => variables[name] !== undefined && variables[name] !== '')
  const environment = plainToInstance(Environment, Object.fromEntries(known.map((name) => [name, variables[name]])))
  const problems = validateSync(environment, { stopAtFirstError: true }).map(({ property, value, constraints }) => {
    const reason = Object.values(constraints ?? {})[0] ?? 'not valid'
    const shown = typeof value === 'string' && !SECRETS.has(property) ? ` (got ${JSON.stringify(value)})` : ''
    return `${property}: ${reason.replace(`${property} `, '')}${shown}`
  })
  if (problems.length > 0) throw new EnvironmentError(problems)
  return environment
}

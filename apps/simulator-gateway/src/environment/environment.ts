import { FOLLOW_MODES, type FollowMode } from '@upfront/chain'
import { DIALECTS, type Dialect } from '@upfront/protocol'
import { DEFAULT_PRICE_LIST, decodePriceList, type PriceList } from '@upfront/receipt'
import {
  Decoded,
  IsHttpUrl,
  IsLogLevel,
  IsPort,
  IsWholeNumber,
  List,
  Listed,
  type LogLevel,
  readEnvironment,
  type Variables,
  WholeNumber,
} from '@upfront/service'
import { IsArray, IsIn, IsInt, IsOptional, IsString, Matches, Min, Validate, ValidateIf } from 'class-validator'
import { type ApiKey, readApiKeysFile } from './api-keys.js'
import { availableMemory } from './available-memory.js'
import {
  decodeBuild,
  PassthroughMethods,
  readGenesisFile,
  SeesTransactions,
  UpstreamUrls,
} from './environment-rules.js'
import { FIXED } from './fixed.js'
import { DEFAULT_LIMITS, decodeLimits, type Limits } from './limits.js'
import { DEFAULT_PASSTHROUGH_METHODS } from './read-methods.js'
import { type ReceiptKeys, readReceiptKeysFile } from './receipt-keys.js'

/** The gateway's settings, each an environment variable of the same name. README.md has the table. */
export class Environment {
  @Listed('needed')
  @List()
  @Validate(UpstreamUrls)
  UPSTREAM_RPC_URL!: string[]

  /** WebSocket URLs of nodes that announce new heads (`eth_subscribe`). */
  @Listed('usual')
  @IsOptional()
  @List()
  @IsArray()
  @Matches(/^wss?:\/\/[^\s/]+/, { each: true })
  UPSTREAM_WS_URL?: string[]

  /** Whether `latest` is the followed head, without asking the node on each request. */
  @IsIn(FOLLOW_MODES)
  FOLLOW_HEAD: FollowMode = 'auto'

  /** `auto`: off on development nodes, whose state also changes between blocks. */
  @IsIn(['auto', 'on', 'off'])
  CARRY_STATE: 'auto' | 'on' | 'off' = 'auto'

  /** Whether to ask the node, by a trace method, what a call to an unknown contract touches. Never changes an answer. */
  @IsIn(['on', 'off'])
  HINTS: 'on' | 'off' = 'on'

  @Listed('usual')
  @IsPort()
  GATEWAY_PORT = 8080

  @Listed('usual')
  @IsString()
  GATEWAY_HOST = '127.0.0.1'

  /** Worker processes that share the port and the limits. */
  @Listed('usual')
  @IsWholeNumber(1, 256)
  GATEWAY_WORKERS = 1

  /** URL of the Redis or Valkey in which replicas share the free budgets. */
  @Listed('usual')
  @IsOptional()
  @Matches(/^(rediss?|unix):\/\/\S+$/, { message: 'must begin with redis:// or rediss://' })
  REDIS_URL?: string

  @Decoded(decodeBuild)
  EVM_ENGINE: 'auto' | 'native' | 'portable' = 'auto'

  /** The parsed file. */
  @IsOptional()
  @Decoded(readGenesisFile)
  CHAIN_GENESIS_FILE?: unknown

  @IsOptional()
  @IsWholeNumber(1, 86_400)
  BLOCK_TIME_SECONDS?: number

  /** Whether `/console` is served. */
  @Listed('usual')
  @IsIn(['on', 'off'])
  CONSOLE: 'on' | 'off' = 'on'

  @Listed('usual')
  @IsIn(DIALECTS)
  DIALECT: Dialect = 'upfront'

  @Listed('usual')
  @IsLogLevel()
  LOG_LEVEL: LogLevel = 'info'

  /** Where OpenTelemetry spans are sent. Tracing is off without it. */
  @IsOptional()
  @IsHttpUrl()
  OTEL_EXPORTER_OTLP_ENDPOINT?: string

  @List()
  @Validate(PassthroughMethods)
  PASSTHROUGH_METHODS: string[] = DEFAULT_PASSTHROUGH_METHODS

  /** Whether signed transactions are forwarded to the node. */
  @Listed('usual')
  @IsIn(['on', 'off'])
  SENDING: 'on' | 'off' = 'off'

  /** Flashblocks streams, tried in order. With one, `pending` is the block under construction. */
  @Listed('usual')
  @IsOptional()
  @List()
  @IsArray()
  @Matches(/^wss?:\/\/[^\s/]+/, { each: true })
  FLASHBLOCKS_WS_URL?: string[]

  /** A stream that sends no flashblock for this long is dropped for the next. */
  @IsWholeNumber(250)
  FLASHBLOCKS_SILENCE_MS = 2_000

  /** Whether transactions are simulated when first seen and compared with their outcome on chain. */
  @IsIn(['on', 'off'])
  @Validate(SeesTransactions)
  TRUTH_SCORE: 'on' | 'off' = 'off'

  /** Limits of clients, requests and the process. */
  @Listed('usual')
  @Decoded(decodeLimits)
  LIMITS: Limits = DEFAULT_LIMITS

  /** Hashed API keys, each with its own budget. */
  @Listed('usual')
  @IsOptional()
  @Decoded(readApiKeysFile)
  API_KEYS_FILE?: ApiKey[]

  /** URL of the JWKS that verifies callers' JWTs. */
  @IsOptional()
  @IsHttpUrl()
  JWT_JWKS_URL?: string

  /** Required `iss` of a token. */
  @IsOptional()
  @IsString()
  JWT_ISSUER?: string

  /** A value that `aud` of a token must contain. */
  @IsOptional()
  @IsString()
  JWT_AUDIENCE?: string

  /** Memory limit in bytes; `GATEWAY_WORKERS` processes divide it. */
  @IsWholeNumber(64 * 1024 * 1024)
  MEMORY_LIMIT_BYTES = availableMemory()

  @IsWholeNumber(100)
  SHUTDOWN_TIMEOUT_MS = 20_000

  /** 0 turns the check off. The default is 60 on chains known by ID; on others, off. */
  @IsOptional()
  @WholeNumber({ off: 0 })
  @IsInt()
  @Min(0)
  HEAD_MAX_AGE_SECONDS?: number

  /** Proxies whose `X-Forwarded-For` is trusted: addresses or CIDR ranges. */
  @Listed('usual')
  @IsOptional()
  @List()
  @IsArray()
  @Matches(/^([0-9a-fA-F.:]+(\/\d{1,3})?|loopback|linklocal|uniquelocal)$/, { each: true })
  TRUSTED_PROXIES?: string[]

  /** Origins allowed by CORS, or `*`. */
  @Listed('usual')
  @IsOptional()
  @List()
  @IsArray()
  @Matches(/^(\*|https?:\/\/[^\s/,]+)$/, { each: true })
  CORS_ORIGINS?: string[]

  /** Public URL of the gateway, such as `https://sim.example`: payers sign for it. By default taken from the request's Host. */
  @Listed('usual')
  @IsOptional()
  @IsHttpUrl()
  PUBLIC_URL?: string

  /** URL of billing. With it the paid routes are served; BILLING_TOKEN, NETWORK, ASSET and PAY_TO are required then. */
  @Listed('usual')
  @IsOptional()
  @IsHttpUrl()
  BILLING_URL?: string

  @Listed('usual')
  @ValidateIf(sells)
  @IsString({ message: 'is missing: set it to the BILLING_TOKEN of the billing at BILLING_URL' })
  BILLING_TOKEN?: string

  /** Directory of charges that billing has not acknowledged yet. Without it they are lost if the process ends. */
  @Listed('usual')
  @IsOptional()
  @IsString()
  CHARGE_JOURNAL_DIR?: string

  /** CAIP-2 ID of the network that buyers pay on. */
  @Listed('usual')
  @ValidateIf(sells)
  @Matches(/^eip155:[1-9]\d{0,15}$/, { message: 'expected a CAIP-2 network such as eip155:8453' })
  NETWORK?: `eip155:${number}`

  /** Address of the token that buyers pay with. */
  @Listed('usual')
  @ValidateIf(sells)
  @Matches(/^0x[0-9a-fA-F]{40}$/, { message: 'expected the address of a token' })
  ASSET?: string

  @Listed('usual')
  @ValidateIf(sells)
  @Matches(/^0x[0-9a-fA-F]{40}$/, { message: 'expected the address that is paid' })
  PAY_TO?: string

  @Listed('usual')
  @Decoded(decodePriceList)
  PRICE_LIST: PriceList = DEFAULT_PRICE_LIST

  /** The key that signs receipts of paid answers, and retired keys. Without it answers carry no receipt. */
  @Listed('usual')
  @IsOptional()
  @Decoded(readReceiptKeysFile)
  RECEIPT_KEYS_FILE?: ReceiptKeys
}

function sells({ BILLING_URL }: Environment): boolean {
  return BILLING_URL !== undefined
}

/** Never shown in errors: they may hold keys. */
const SECRETS = [
  'UPSTREAM_RPC_URL',
  'UPSTREAM_WS_URL',
  'FLASHBLOCKS_WS_URL',
  'REDIS_URL',
  'BILLING_URL',
  'BILLING_TOKEN',
  'RECEIPT_KEYS_FILE',
  'API_KEYS_FILE',
  'JWT_JWKS_URL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
]

const always = (value: number, unit: string) => `it is always ${value}${unit}`

/** Settings that became a field of `LIMITS`. */
const MOVED: Readonly<Record<string, keyof Limits>> = {
  FREE_RATE_LIMIT: 'callsPerSecond',
  FREE_GAS_PER_MINUTE: 'gasPerMinute',
  FREE_BYTES_PER_MINUTE: 'bytesPerMinute',
  FREE_READS_PER_MINUTE: 'readsPerMinute',
  FREE_GAS_CAP: 'gas',
  MAX_UPSTREAM_READS: 'reads',
  REQUEST_TIMEOUT_MS: 'timeoutMs',
  PAID_GAS_CAP: 'paidGas',
  PAID_UPSTREAM_READS: 'paidReads',
  PAID_TIMEOUT_MS: 'paidTimeoutMs',
  MAX_CALLS: 'calls',
  MAX_BATCH_LENGTH: 'batchLength',
  MAX_BODY_BYTES: 'bodyBytes',
  MAX_ANSWER_BYTES: 'answerBytes',
  MAX_IN_FLIGHT: 'inFlight',
  MAX_QUEUED: 'queued',
  MAX_CONNECTIONS: 'connections',
  MAX_CONNECTIONS_PER_CLIENT: 'connectionsPerClient',
}

/** Removed settings, and what replaces each. */
const GONE: Readonly<Record<string, string>> = {
  MAX_CALLS_PER_BLOCK: always(FIXED.callsPerBlock, ''),
  MAX_JSON_VALUES: always(FIXED.jsonValues, ''),
  BODY_TIMEOUT_MS: always(FIXED.bodyMs, ' ms'),
  ANSWER_TIMEOUT_MS: always(FIXED.answerMs, ' ms'),
  MIN_STATE_WAIT_MS: always(FIXED.minStateWaitMs, ' ms'),
  CARRY_AUDIT_SECONDS: always(FIXED.carryAuditMs / 1_000, ' s'),
  FOLLOW_IDLE_SECONDS: always(FIXED.followIdleMs / 1_000, ' s'),
  FLASHBLOCKS_MAX_MESSAGE_BYTES: always(FIXED.flashblockBytes, ' bytes'),
  RECEIPT_KEY: 'put the key into a file, {"key": "0x…"}, and set RECEIPT_KEYS_FILE',
}

/** @throws EnvironmentError */
export function readGatewayEnvironment(variables: Variables): Environment {
  return readEnvironment(Environment, variables, { secrets: SECRETS, gone: GONE, moved: MOVED })
}

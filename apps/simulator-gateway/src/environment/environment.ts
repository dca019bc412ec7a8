import { FOLLOW_MODES, type FollowMode } from '@upfront/head'
import { DIALECTS, type Dialect } from '@upfront/protocol'
import { DEFAULT_PRICE_LIST, decodePriceList, type PriceList } from '@upfront/receipt'
import {
  Decoded,
  IsHttpUrl,
  IsLogLevel,
  IsPort,
  IsWholeNumber,
  List,
  type LogLevel,
  readEnvironment,
  type Variables,
  WholeNumber,
} from '@upfront/service'
import { IsArray, IsIn, IsInt, IsOptional, IsString, Matches, Min, Validate, ValidateIf } from 'class-validator'
import { type ApiKey, readApiKeysFile } from './api-keys.js'
import { availableMemory } from './available-memory.js'
import { decodeBuild, PassthroughMethods, readGenesisFile, UpstreamUrls } from './environment-rules.js'
import { DEFAULT_PASSTHROUGH_METHODS } from './passthrough-methods.js'
import { decodeReceiptKey, type ReceiptKeys, readReceiptKeysFile } from './receipt-keys.js'

/** Every setting of the gateway, each an environment variable of the same name; README.md has the table. */
export class Environment {
  @List()
  @Validate(UpstreamUrls)
  UPSTREAM_RPC_URL!: string[]

  /** Where nodes announce new heads (`eth_subscribe`). */
  @IsOptional()
  @List()
  @IsArray()
  @Matches(/^wss?:\/\/[^\s/]+/, { each: true })
  UPSTREAM_WS_URL?: string[]

  /** Whether `latest` is the head that is followed, without asking the node at each request. */
  @IsIn(FOLLOW_MODES)
  FOLLOW_HEAD: FollowMode = 'auto'

  /** `auto`: not on a development node, whose state changes without blocks too. */
  @IsIn(['auto', 'on', 'off'])
  CARRY_STATE: 'auto' | 'on' | 'off' = 'auto'

  /** How often some carried values are compared with the node's. */
  @IsWholeNumber(1, 3_600)
  CARRY_AUDIT_SECONDS = 60

  /** Whether the node is asked, by a trace method, what a call to a contract never seen touches. Answers are the same without. */
  @IsIn(['on', 'off'])
  HINTS: 'on' | 'off' = 'on'

  /** `auto` stops following after so long without a request. */
  @IsWholeNumber(1, 86_400)
  FOLLOW_IDLE_SECONDS = 60

  @IsPort()
  GATEWAY_PORT = 8080

  @IsString()
  GATEWAY_HOST = '127.0.0.1'

  /** Processes that share the port and the limits. */
  @IsWholeNumber(1, 256)
  GATEWAY_WORKERS = 1

  /** Redis or Valkey, where replicas share the free budgets. */
  @IsOptional()
  @Matches(/^(rediss?|unix):\/\/\S+$/, { message: 'must begin with redis:// or rediss://' })
  REDIS_URL?: string

  /** How long a request waits for the state that its `upfront-min-state` names. */
  @IsWholeNumber(0, 60_000)
  MIN_STATE_WAIT_MS = 500

  @Decoded(decodeBuild)
  EVM_ENGINE: 'auto' | 'native' | 'portable' = 'auto'

  /** The file's JSON. */
  @IsOptional()
  @Decoded(readGenesisFile)
  CHAIN_GENESIS_FILE?: unknown

  @IsOptional()
  @IsWholeNumber(1, 86_400)
  BLOCK_TIME_SECONDS?: number

  /** Whether the page at `/console` is served. */
  @IsIn(['on', 'off'])
  CONSOLE: 'on' | 'off' = 'on'

  @IsIn(DIALECTS)
  DIALECT: Dialect = 'upfront'

  @IsLogLevel()
  LOG_LEVEL: LogLevel = 'info'

  /** Where spans are sent; nothing is traced without it. */
  @IsOptional()
  @IsHttpUrl()
  OTEL_EXPORTER_OTLP_ENDPOINT?: string

  @List()
  @Validate(PassthroughMethods)
  PASSTHROUGH_METHODS: string[] = DEFAULT_PASSTHROUGH_METHODS

  /** Whether signed transactions are passed on to the node. */
  @IsIn(['on', 'off'])
  SENDING: 'on' | 'off' = 'off'

  /** Flashblocks streams, tried in turn; with one, `pending` is the block under construction. */
  @IsOptional()
  @List()
  @IsArray()
  @Matches(/^wss?:\/\/[^\s/]+/, { each: true })
  FLASHBLOCKS_WS_URL?: string[]

  /** A stream without a flashblock for so long is given up for the next. */
  @IsWholeNumber(250)
  FLASHBLOCKS_SILENCE_MS = 2_000

  /** One message of the stream, decompressed. */
  @IsWholeNumber(1_024, 64 * 1024 * 1024)
  FLASHBLOCKS_MAX_MESSAGE_BYTES = 16 * 1024 * 1024

  /** Calls per second and client; 0 is off, and with it the three that follow. */
  @WholeNumber({ off: 0 })
  @IsInt()
  @Min(0)
  FREE_RATE_LIMIT = 50

  @IsWholeNumber(1)
  FREE_GAS_PER_MINUTE = 5_000_000_000

  /** Of requests and answers. */
  @IsWholeNumber(1)
  FREE_BYTES_PER_MINUTE = 1024 * 1024 * 1024

  @IsWholeNumber(1)
  FREE_READS_PER_MINUTE = 200_000

  /** API keys, hashed, each with a budget of its own. */
  @IsOptional()
  @Decoded(readApiKeysFile)
  API_KEYS_FILE?: ApiKey[]

  /** Where the keys are published with which callers' tokens (JWT) are signed. */
  @IsOptional()
  @IsHttpUrl()
  JWT_JWKS_URL?: string

  /** What `iss` of a token must be. */
  @IsOptional()
  @IsString()
  JWT_ISSUER?: string

  /** What `aud` of a token must hold. */
  @IsOptional()
  @IsString()
  JWT_AUDIENCE?: string

  /** Gas of one `eth_simulateV1` on the free endpoint, all calls together. */
  @IsWholeNumber(21_000)
  FREE_GAS_CAP = 50_000_000

  @IsWholeNumber(1)
  MAX_CALLS_PER_BLOCK = 5_000

  /** Of all blocks of a request together. */
  @IsWholeNumber(1)
  MAX_CALLS = 10_000

  @IsWholeNumber(1_024, 256 * 1024 * 1024)
  MAX_BODY_BYTES = 30 * 1024 * 1024

  /** Of the whole process. */
  @IsWholeNumber(64 * 1024 * 1024)
  MEMORY_LIMIT_BYTES = availableMemory()

  @IsWholeNumber(100)
  MAX_JSON_VALUES = 300_000

  @IsWholeNumber(1_024, 256 * 1024 * 1024)
  MAX_ANSWER_BYTES = 64 * 1024 * 1024

  @IsWholeNumber(1)
  MAX_BATCH_LENGTH = 100

  @IsWholeNumber(10)
  REQUEST_TIMEOUT_MS = 15_000

  @IsWholeNumber(10)
  BODY_TIMEOUT_MS = 30_000

  /** For an answer over 64 KiB to be read. */
  @IsWholeNumber(10)
  ANSWER_TIMEOUT_MS = 60_000

  @IsWholeNumber(1)
  MAX_CONNECTIONS = 10_000

  /** Of one client; not where `TRUSTED_PROXIES` open them. */
  @IsWholeNumber(1)
  MAX_CONNECTIONS_PER_CLIENT = 1_000

  @IsWholeNumber(1)
  MAX_UPSTREAM_READS = 5_000

  @IsWholeNumber(1)
  MAX_IN_FLIGHT = 64

  @IsWholeNumber(0)
  MAX_QUEUED = 1_024

  @IsWholeNumber(100)
  SHUTDOWN_TIMEOUT_MS = 20_000

  /** 0 is off. Absent: a minute, on chains that are known by their id. */
  @IsOptional()
  @WholeNumber({ off: 0 })
  @IsInt()
  @Min(0)
  HEAD_MAX_AGE_SECONDS?: number

  /** Proxies whose `X-Forwarded-For` names the client: addresses or CIDR ranges. */
  @IsOptional()
  @List()
  @IsArray()
  @Matches(/^([0-9a-fA-F.:]+(\/\d{1,3})?|loopback|linklocal|uniquelocal)$/, { each: true })
  TRUSTED_PROXIES?: string[]

  /** Web origins that may call from a browser, or `*`. */
  @IsOptional()
  @List()
  @IsArray()
  @Matches(/^(\*|https?:\/\/[^\s/,]+)$/, { each: true })
  CORS_ORIGINS?: string[]

  /** Where clients reach the gateway, such as `https://sim.example`: what payers sign for. Absent: the Host of the request. */
  @IsOptional()
  @IsHttpUrl()
  PUBLIC_URL?: string

  /** Where billing listens. With it the paid routes are served, and the five settings that follow are needed. */
  @IsOptional()
  @IsHttpUrl()
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

  @Decoded(decodePriceList)
  PRICE_LIST: PriceList = DEFAULT_PRICE_LIST

  /** Signs the receipts of paid answers. Without it, and without the file, there are none. */
  @IsOptional()
  @Decoded(decodeReceiptKey)
  RECEIPT_KEY?: ReceiptKeys

  /** The same in a file, with the keys that signed before. */
  @IsOptional()
  @Decoded(readReceiptKeysFile)
  RECEIPT_KEYS_FILE?: ReceiptKeys

  /** Gas of one paid simulation. */
  @IsWholeNumber(21_000)
  PAID_GAS_CAP = 250_000_000

  @IsWholeNumber(1)
  PAID_UPSTREAM_READS = 20_000

  @IsWholeNumber(10, 120_000)
  PAID_TIMEOUT_MS = 30_000

  get receiptKeys(): ReceiptKeys | undefined {
    return this.RECEIPT_KEY ?? this.RECEIPT_KEYS_FILE
  }
}

function sells({ BILLING_URL }: Environment): boolean {
  return BILLING_URL !== undefined
}

/** These may hold keys. */
const SECRETS = [
  'UPSTREAM_RPC_URL',
  'UPSTREAM_WS_URL',
  'FLASHBLOCKS_WS_URL',
  'REDIS_URL',
  'BILLING_URL',
  'BILLING_TOKEN',
  'RECEIPT_KEY',
  'RECEIPT_KEYS_FILE',
  'API_KEYS_FILE',
]

/** @throws EnvironmentError */
export function readGatewayEnvironment(variables: Variables): Environment {
  const both = variables.RECEIPT_KEY && variables.RECEIPT_KEYS_FILE
  const problems = both ? ['RECEIPT_KEY: set it or RECEIPT_KEYS_FILE, not both'] : []
  return readEnvironment(Environment, variables, { secrets: SECRETS, problems })
}

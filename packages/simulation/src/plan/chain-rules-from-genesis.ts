import { DecodeError, decodeAddress, decodeQuantity, mismatch, Place } from '@upfront/protocol'
import { type BlockSchedule, denimSchedule } from './block-schedule.js'
import {
  type BlobParameters,
  type ChainRules,
  DEFAULT_BLOB_PARAMETERS,
  DEFAULT_BLOCK_TIME,
  DEFAULT_OP_BASE_FEE,
  ETHEREUM_FORKS,
  type ForkActivation,
  OP_FORKS,
} from './chain-rules.js'

const BLOB_TIMES = ['cancun', 'prague', 'osaka', 'bpo1', 'bpo2', 'bpo3', 'bpo4', 'bpo5', 'amsterdam'] as const

/** Activation times known to geth and op-reth of forks whose execution is not implemented here. */
const UNSUPPORTED_TIMES = ['bogotaTime', 'ubtTime', 'verkleTime', 'interopTime', 'lagoonTime', 'zenithTime'] as const

type Config = Record<string, unknown>

/**
 * Rules from a genesis file (its `config`) or a bare chain configuration, in the format of geth, reth, op-geth and `debug_chainConfig`.
 * @throws DecodeError with the place of the fault; also for a chain without a Merge
 */
export function chainRulesFromGenesis(json: unknown, source: ChainRules['source'] = 'genesis-file'): ChainRules {
  const config = configOf(json)
  const chainId = numberAt(config, 'chainId')
  if (chainId === undefined) throw mismatch(new Place(ROOT, 'chainId'), 'a chain id', config.chainId)
  const optimism = objectAt(config, 'optimism')
  const unsupportedFrom = firstUnsupported(config)
  const shared = {
    chainId,
    source,
    ...(unsupportedFrom && { unsupportedFrom }),
  }
  if (optimism !== undefined)
    return {
      ...shared,
      stack: 'optimism',
      forks: opForks(config),
      blobSchedule: [],
      schedule: opSchedule(config, json),
      opBaseFee: {
        elasticity: numberAt(optimism, 'eip1559Elasticity') ?? DEFAULT_OP_BASE_FEE.elasticity,
        denominator: numberAt(optimism, 'eip1559Denominator') ?? DEFAULT_OP_BASE_FEE.denominator,
        denominatorCanyon: numberAt(optimism, 'eip1559DenominatorCanyon') ?? DEFAULT_OP_BASE_FEE.denominatorCanyon,
      },
    }
  const depositContract = config.depositContractAddress
  return {
    ...shared,
    stack: 'ethereum',
    forks: ethereumForks(config),
    blobSchedule: blobSchedule(config),
    schedule: { blockTime: DEFAULT_BLOCK_TIME.ethereum },
    ...(depositContract != null && {
      depositContract: decodeAddress(depositContract, ROOT, 'depositContractAddress'),
    }),
  }
}

const ROOT = new Place(undefined, 'config')

function configOf(json: unknown): Config {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw mismatch(undefined, 'a genesis file or chain configuration', json)
  return objectAt(json as Config, 'config') ?? (json as Config)
}

function ethereumForks(config: Config): ForkActivation[] {
  const forks = timedForks(config, ETHEREUM_FORKS.slice(1))
  const merged = mergeBlock(config)
  if (merged !== undefined) return [{ fork: 'paris', block: merged }, ...forks]
  if (forks.length === 0)
    throw new DecodeError(ROOT, 'expected a chain that went through the Merge, got one without proof of stake')
  return forks
}

/** The first proof-of-stake block, if the configuration tells it. */
function mergeBlock(config: Config): bigint | undefined {
  const netsplit = numberAt(config, 'mergeNetsplitBlock')
  if (netsplit !== undefined) return netsplit
  const total = config.terminalTotalDifficulty
  const atGenesis = total === 0 || total === '0x0' || total === '0' || config.terminalTotalDifficultyPassed === true
  return atGenesis ? 0n : undefined
}

function opForks(config: Config): ForkActivation[] {
  const bedrock = numberAt(config, 'bedrockBlock') ?? 0n
  return [{ fork: 'bedrock', block: bedrock }, ...timedForks(config, OP_FORKS.slice(1))]
}

/** `genesisTime` is our own extension, for configurations without a genesis block. */
function opSchedule(config: Config, json: unknown): BlockSchedule {
  const blockTime = numberAt(config, 'blockTime') ?? DEFAULT_BLOCK_TIME.optimism
  const since = numberAt(config, 'denimTime')
  if (since === undefined) return { blockTime }
  const genesisTime = numberAt(config, 'genesisTime') ?? numberAt(json as Config, 'timestamp')
  if (genesisTime === undefined)
    throw new DecodeError(
      new Place(ROOT, 'denimTime'),
      "blocks of 200 ms are counted from the genesis block's `timestamp`",
    )
  return denimSchedule(genesisTime, since, blockTime)
}

/** geth and op-geth name a fork's field after it, such as `cancunTime`. */
function timedForks(config: Config, forks: readonly ForkActivation['fork'][]): ForkActivation[] {
  return forks.flatMap((fork) => {
    const timestamp = numberAt(config, `${fork}Time`)
    return timestamp === undefined ? [] : [{ fork, timestamp }]
  })
}

function blobSchedule(config: Config): ChainRules['blobSchedule'] {
  const given = objectAt(config, 'blobSchedule') ?? {}
  const entries = BLOB_TIMES.flatMap((name) => {
    const timestamp = numberAt(config, `${name}Time`)
    if (timestamp === undefined) return []
    const parameters = blobParametersAt(given, name) ?? DEFAULT_BLOB_PARAMETERS[name]
    return parameters === undefined ? [] : [{ timestamp, parameters }]
  })
  return entries.sort((a, b) => Number(a.timestamp - b.timestamp))
}

function blobParametersAt(schedule: Config, name: string): BlobParameters | undefined {
  const entry = objectAt(schedule, name)
  return entry && decodeBlobParameters(entry, new Place(new Place(ROOT, 'blobSchedule'), name))
}

/** EIP-7840's `{target, max, baseFeeUpdateFraction}`; target and max in blobs. */
export function decodeBlobParameters(entry: Config, place: Place): BlobParameters {
  const target = required(entry, 'target', place)
  const max = required(entry, 'max', place)
  const baseFeeUpdateFraction = required(entry, 'baseFeeUpdateFraction', place)
  if (baseFeeUpdateFraction === 0n || max === 0n || target > max)
    throw new DecodeError(place, 'expected a target of at most `max` blobs and a fraction above 0')
  return { target: Number(target), max: Number(max), baseFeeUpdateFraction }
}

function firstUnsupported(config: Config): ChainRules['unsupportedFrom'] {
  const scheduled = UNSUPPORTED_TIMES.flatMap((field) => {
    const timestamp = numberAt(config, field)
    return timestamp === undefined ? [] : [{ fork: field.slice(0, -'Time'.length), timestamp }]
  })
  return scheduled.sort((a, b) => Number(a.timestamp - b.timestamp))[0]
}

function required(fields: Config, key: string, place: Place): bigint {
  const value = numberAt(fields, key, place)
  if (value === undefined) throw mismatch(new Place(place, key), 'a number', fields[key])
  return value
}

function numberAt(fields: Config, key: string, place: Place = ROOT): bigint | undefined {
  const value = fields[key]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' && value.startsWith('0x')) return decodeQuantity(value, 64, place, key)
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  throw mismatch(new Place(place, key), 'a whole number', value)
}

function objectAt(fields: Config, key: string): Config | undefined {
  const value = fields[key]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object' || Array.isArray(value)) throw mismatch(new Place(ROOT, key), 'an object', value)
  return value as Config
}

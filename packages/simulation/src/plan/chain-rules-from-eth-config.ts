import { DecodeError, decodeQuantity, mismatch, Place, quote } from '@upfront/protocol'
import { type ChainRules, DEFAULT_BLOCK_TIME, type EthereumFork } from './chain-rules.js'
import { decodeBlobParameters } from './chain-rules-from-genesis.js'

type Fields = Record<string, unknown>

/** EIP-7910's names of precompiles and system contracts up to Amsterdam. A fork that lists others is unknown. */
const KNOWN_NAMES = new Set([
  ...['ECREC', 'SHA256', 'RIPEMD160', 'ID', 'MODEXP', 'BN254_ADD', 'BN254_MUL', 'BN254_PAIRING', 'BLAKE2F'],
  ...['KZG_POINT_EVALUATION', 'BLS12_G1ADD', 'BLS12_G1MSM', 'BLS12_G2ADD', 'BLS12_G2MSM', 'BLS12_PAIRING_CHECK'],
  ...['BLS12_MAP_FP_TO_G1', 'BLS12_MAP_FP2_TO_G2', 'P256VERIFY', 'BEACON_ROOTS_ADDRESS', 'HISTORY_STORAGE_ADDRESS'],
  ...['DEPOSIT_CONTRACT_ADDRESS', 'WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS', 'CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS'],
  ...['BUILDER_DEPOSIT_CONTRACT_ADDRESS', 'BUILDER_EXIT_CONTRACT_ADDRESS'],
])

/**
 * Rules from `eth_config` (EIP-7910): its `current`, `next` and `last` forks. An entry does not name its fork; it is told by the
 * precompiles and system contracts it lists. Blocks before `current` stay without rules. geth --dev (1.17.8) lists Amsterdam's contracts
 * while it executes Osaka, so the head's header decides between these.
 * @param headHasAccessList whether the head's header has a `blockAccessListHash`, as from Amsterdam on
 * @throws DecodeError if the answer is malformed, or has a fork before Cancun, which can't be identified
 */
export function chainRulesFromEthConfig(json: unknown, headHasAccessList = true): ChainRules {
  const root = new Place(undefined, 'eth_config')
  const config = objectOf(json, root)
  const current = objectOf(config.current, new Place(root, 'current'))
  const chainId = decodeQuantity(current.chainId, 256, new Place(root, 'current'), 'chainId')
  const rules: ChainRules = {
    chainId,
    stack: 'ethereum',
    source: 'eth_config',
    forks: [],
    blobSchedule: [],
    schedule: { blockTime: DEFAULT_BLOCK_TIME.ethereum },
  }
  const strange = unknownNames(current, new Place(root, 'current'))
  if (strange.length > 0) {
    rules.isUncertain = true
    rules.caveats = [
      `the node runs a fork after Amsterdam (eth_config names ${strange.join(', ')}); its changes, such as gas costs, are not simulated`,
    ]
  }
  for (const name of ['current', 'next', 'last']) {
    const entry = config[name]
    if (entry === undefined || entry === null) continue
    const place = new Place(root, name)
    const fields = objectOf(entry, place)
    if (name === 'current' || unknownNames(fields, place).length === 0 || strange.length > 0)
      addFork(rules, fields, place, name !== 'current' || headHasAccessList)
    else
      rules.unsupportedFrom ??= {
        fork: 'unknown',
        timestamp: timeOf(fields.activationTime, new Place(place, 'activationTime')),
      }
  }
  return rules
}

/** Names in a fork's entry that no known fork lists, shortened because they are untrusted. */
function unknownNames({ precompiles, systemContracts }: Fields, place: Place): string[] {
  const names = [
    ...Object.keys(objectOf(precompiles ?? {}, new Place(place, 'precompiles'))),
    ...Object.keys(objectOf(systemContracts ?? {}, new Place(place, 'systemContracts'))),
  ]
  return names
    .filter((name) => !KNOWN_NAMES.has(name))
    .map((name) => quote(name))
    .slice(0, 5)
}

/**
 * Adds the time of the next fork in an OP-stack node's `eth_config` to inferred rules: blocks from then on are refused. It can't be told
 * which fork that is, because Fjord's precompiles are Osaka's.
 * @throws DecodeError if the answer is malformed
 */
export function withOpEthConfig(inferred: ChainRules, json: unknown): ChainRules {
  const root = new Place(undefined, 'eth_config')
  const config = objectOf(json, root)
  if (config.next === undefined || config.next === null) return inferred
  const place = new Place(root, 'next')
  const timestamp = timeOf(objectOf(config.next, place).activationTime, new Place(place, 'activationTime'))
  return { ...inferred, unsupportedFrom: { fork: 'unknown', timestamp } }
}

function addFork(rules: ChainRules, entry: Fields, place: Place, mayBeAmsterdam: boolean): void {
  const timestamp = timeOf(entry.activationTime, new Place(place, 'activationTime'))
  if (rules.blobSchedule.some((known) => known.timestamp === timestamp)) return
  const precompiles = objectOf(entry.precompiles, new Place(place, 'precompiles'))
  const contracts = objectOf(entry.systemContracts ?? {}, new Place(place, 'systemContracts'))
  const fork = forkOf(precompiles, contracts, mayBeAmsterdam)
  if (fork === undefined) throw new DecodeError(place, 'forks before Cancun cannot be told apart')
  const blob = objectOf(entry.blobSchedule, new Place(place, 'blobSchedule'))
  rules.forks.push({ fork, timestamp })
  rules.blobSchedule.push({ timestamp, parameters: decodeBlobParameters(blob, new Place(place, 'blobSchedule')) })
  const deposit = contracts.DEPOSIT_CONTRACT_ADDRESS
  if (typeof deposit === 'string' && /^0x[0-9a-f]{40}$/i.test(deposit))
    rules.depositContract = deposit.toLowerCase() as `0x${string}`
}

function forkOf(precompiles: Fields, contracts: Fields, mayBeAmsterdam: boolean): EthereumFork | undefined {
  if (mayBeAmsterdam && 'BUILDER_DEPOSIT_CONTRACT_ADDRESS' in contracts) return 'amsterdam'
  if ('P256VERIFY' in precompiles) return 'osaka'
  if ('BLS12_G1ADD' in precompiles || 'HISTORY_STORAGE_ADDRESS' in contracts) return 'prague'
  if ('KZG_POINT_EVALUATION' in precompiles || 'BEACON_ROOTS_ADDRESS' in contracts) return 'cancun'
  return undefined
}

function timeOf(value: unknown, place: Place): bigint {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw mismatch(place, 'a whole number of seconds', value)
  return BigInt(value)
}

function objectOf(value: unknown, place: Place): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw mismatch(place, 'an object', value)
  return value as Fields
}

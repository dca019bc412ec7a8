import { DecodeError, decodeQuantity, mismatch, Place } from '@upfront/protocol'
import { DEFAULT_BLOCK_TIME } from './chain-defaults.js'
import type { ChainRules, EthereumFork } from './chain-rules.js'
import { decodeBlobParameters } from './chain-rules-from-genesis.js'

type Fields = Record<string, unknown>

/** A system contract that came after Osaka; geth's dev mode lists it and charges by the newer gas costs. */
const AFTER_OSAKA = 'BUILDER_DEPOSIT_CONTRACT_ADDRESS'

/**
 * Rules from a node's answer to `eth_config` (EIP-7910): its `current`, `next` and `last` forks. An entry doesn't name its
 * fork; the precompiles and system contracts that it lists tell it apart. Blocks before `current` are left untold.
 * @throws DecodeError where the answer is malformed, or tells of a fork before Cancun, which can't be told apart
 */
export function chainRulesFromEthConfig(json: unknown): ChainRules {
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
  if (
    AFTER_OSAKA in objectOf(current.systemContracts ?? {}, new Place(new Place(root, 'current'), 'systemContracts'))
  ) {
    rules.caveats = ['the node runs a fork after Osaka; what that fork changed (gas costs above all) is not simulated']
  }
  for (const name of ['current', 'next', 'last']) {
    const entry = config[name]
    if (entry !== undefined && entry !== null)
      addFork(rules, objectOf(entry, new Place(root, name)), new Place(root, name))
  }
  return rules
}

function addFork(rules: ChainRules, entry: Fields, place: Place): void {
  const timestamp = timeOf(entry.activationTime, new Place(place, 'activationTime'))
  if (rules.blobSchedule.some((known) => known.timestamp === timestamp)) return
  const precompiles = objectOf(entry.precompiles, new Place(place, 'precompiles'))
  const contracts = objectOf(entry.systemContracts ?? {}, new Place(place, 'systemContracts'))
  const fork = forkOf(precompiles, contracts)
  if (fork === undefined) throw new DecodeError(place, 'forks before Cancun can not be told apart')
  const blob = objectOf(entry.blobSchedule, new Place(place, 'blobSchedule'))
  rules.forks.push({ fork, timestamp })
  rules.blobSchedule.push({ timestamp, parameters: decodeBlobParameters(blob, new Place(place, 'blobSchedule')) })
  const deposit = contracts.DEPOSIT_CONTRACT_ADDRESS
  if (typeof deposit === 'string' && /^0x[0-9a-f]{40}$/i.test(deposit)) {
    rules.depositContract = deposit.toLowerCase() as `0x${string}`
  }
}

function forkOf(precompiles: Fields, contracts: Fields): EthereumFork | undefined {
  if ('P256VERIFY' in precompiles) return 'osaka'
  if ('BLS12_G1ADD' in precompiles || 'HISTORY_STORAGE_ADDRESS' in contracts) return 'prague'
  if ('KZG_POINT_EVALUATION' in precompiles || 'BEACON_ROOTS_ADDRESS' in contracts) return 'cancun'
  return undefined
}

function timeOf(value: unknown, place: Place): bigint {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw mismatch(place, 'a whole number of seconds', value)
  }
  return BigInt(value)
}

function objectOf(value: unknown, place: Place): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw mismatch(place, 'an object', value)
  return value as Fields
}

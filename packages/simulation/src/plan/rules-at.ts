import type { BlockHeader } from '@upfront/protocol'
import {
  type BlobParameters,
  type BlockRules,
  type ChainRules,
  ETHEREUM_FORKS,
  type EthereumFork,
  type ForkActivation,
  OP_FORKS,
  type OpFork,
} from './chain-rules.js'

/** The Ethereum fork that each OP-stack fork brings along. */
const ETHEREUM_FORK_OF: Record<OpFork, EthereumFork> = {
  bedrock: 'paris',
  regolith: 'paris',
  canyon: 'shanghai',
  ecotone: 'cancun',
  fjord: 'cancun',
  granite: 'cancun',
  holocene: 'cancun',
  isthmus: 'prague',
  jovian: 'prague',
  karst: 'osaka',
}

/** The rules of one block; undefined where it comes before all that `rules` tell of (before the Merge, say). */
export function rulesAt(rules: ChainRules, number: bigint, timestamp: bigint): BlockRules | undefined {
  const active = (fork: EthereumFork | OpFork) =>
    rules.forks.some((activation) => activation.fork === fork && isActive(activation, number, timestamp))
  if (rules.stack === 'optimism') {
    const opFork = OP_FORKS.findLast(active)
    return opFork && { fork: ETHEREUM_FORK_OF[opFork], opFork }
  }
  const fork = ETHEREUM_FORKS.findLast(active)
  if (fork === undefined) return undefined
  const blob = isForkActive(fork, 'cancun') ? blobParametersAt(rules, timestamp) : undefined
  return blob === undefined ? { fork } : { fork, blob }
}

/** What a block's header alone tells of its rules: the oldest that fit its fields. */
export function rulesOfHeader(header: BlockHeader): BlockRules {
  if (header.requestsHash !== undefined) return { fork: 'prague' }
  if (header.parentBeaconBlockRoot !== undefined) return { fork: 'cancun' }
  if (header.withdrawalsRoot !== undefined) return { fork: 'shanghai' }
  return { fork: 'paris' }
}

export function isForkActive(fork: EthereumFork, since: EthereumFork): boolean {
  return ETHEREUM_FORKS.indexOf(fork) >= ETHEREUM_FORKS.indexOf(since)
}

function isActive(activation: ForkActivation, number: bigint, timestamp: bigint): boolean {
  return 'block' in activation ? number >= activation.block : timestamp >= activation.timestamp
}

function blobParametersAt(rules: ChainRules, timestamp: bigint): BlobParameters | undefined {
  return rules.blobSchedule.findLast((entry) => timestamp >= entry.timestamp)?.parameters
}

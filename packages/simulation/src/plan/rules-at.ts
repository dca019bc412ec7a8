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

/** The Ethereum fork that each OP-stack fork includes. */
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
  azul: 'osaka',
  beryl: 'osaka',
  cobalt: 'osaka',
  denim: 'osaka',
}

export function ethereumForkOf(fork: OpFork): EthereumFork {
  return ETHEREUM_FORK_OF[fork]
}

/** The last result for a chain, and the range of blocks it is valid for. */
interface Found {
  rules: BlockRules | undefined
  from: { number: bigint; timestamp: bigint }
  /** The next changes, if any are known. */
  before: { number: bigint | undefined; timestamp: bigint | undefined }
}

const found = new WeakMap<ChainRules, Found>()

/** The rules of one block; undefined if it is older than all known forks, such as before the Merge. */
export function rulesAt(rules: ChainRules, number: bigint, timestamp: bigint): BlockRules | undefined {
  const last = found.get(rules)
  if (last !== undefined && holds(last, number, timestamp)) return last.rules
  const now = find(rules, number, timestamp)
  found.set(rules, { rules: now, from: { number, timestamp }, before: nextChanges(rules, number, timestamp) })
  return now
}

function holds({ from, before }: Found, number: bigint, timestamp: bigint): boolean {
  return (
    number >= from.number &&
    timestamp >= from.timestamp &&
    (before.number === undefined || number < before.number) &&
    (before.timestamp === undefined || timestamp < before.timestamp)
  )
}

function nextChanges({ forks, blobSchedule }: ChainRules, number: bigint, timestamp: bigint): Found['before'] {
  const before: Found['before'] = { number: undefined, timestamp: undefined }
  for (const change of [...forks, ...blobSchedule]) {
    if ('block' in change) before.number = sooner(before.number, change.block, number)
    else before.timestamp = sooner(before.timestamp, change.timestamp, timestamp)
  }
  return before
}

function sooner(known: bigint | undefined, change: bigint, now: bigint): bigint | undefined {
  return change > now && (known === undefined || change < known) ? change : known
}

function find(rules: ChainRules, number: bigint, timestamp: bigint): BlockRules | undefined {
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

/** The oldest rules that fit the fields of a block's header. */
export function rulesOfHeader(header: BlockHeader): BlockRules {
  if (header.blockAccessListHash !== undefined) return { fork: 'amsterdam' }
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

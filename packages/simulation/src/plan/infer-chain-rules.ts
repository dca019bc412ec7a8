import type { BlockHeader } from '@upfront/protocol'
import {
  type BlockRules,
  type ChainRules,
  DEFAULT_BLOB_PARAMETERS,
  DEFAULT_BLOCK_TIME,
  DEFAULT_OP_BASE_FEE,
  OP_FORKS,
  type OpFork,
} from './chain-rules.js'
import { ethereumForkOf, isForkActive, rulesAt, rulesOfHeader } from './rules-at.js'

/** Collects the fees of every OP-stack chain. */
const SEQUENCER_FEE_VAULT = '0x4200000000000000000000000000000000000011'

/** Init code that returns CLZ(1), for `eth_call`: it gives 255 where Osaka is active, and is invalid before. */
export const OSAKA_PROBE = '0x60011e60005260206000f3'
export const OSAKA_PROBE_ANSWER = `0x${'ff'.padStart(64, '0')}`

const CAVEAT =
  'the rules are inferred from the head: forks that leave no trace in a header are not known, blob schedules above all'

/**
 * The oldest rules that a head header fits, when nothing else is known of a chain; OP-stack chains are known by their fee
 * recipient. Osaka, and Karst on the OP stack, leave no trace in a header.
 * @param runsOsaka whether the node's EVM answered `OSAKA_PROBE` at its head
 */
export function inferChainRules(header: BlockHeader, chainId: bigint, runsOsaka = false): ChainRules {
  const shared = { chainId, source: 'inferred', isUncertain: true, caveats: [CAVEAT] } as const
  if (header.miner === SEQUENCER_FEE_VAULT) {
    const fork = opForkOf(header)
    return {
      ...shared,
      caveats: [...shared.caveats],
      stack: 'optimism',
      forks: [{ fork: fork === 'jovian' && runsOsaka ? 'karst' : fork, block: 0n }],
      blobSchedule: [],
      schedule: { blockTime: DEFAULT_BLOCK_TIME.optimism },
      opBaseFee: DEFAULT_OP_BASE_FEE,
    }
  }
  const { fork } = rulesOfHeader(header)
  const parameters = DEFAULT_BLOB_PARAMETERS[fork]
  return {
    ...shared,
    caveats: [...shared.caveats],
    stack: 'ethereum',
    forks: [{ fork: fork === 'prague' && runsOsaka ? 'osaka' : fork, block: 0n }],
    blobSchedule: parameters === undefined ? [] : [{ timestamp: 0n, parameters }],
    schedule: { blockTime: DEFAULT_BLOCK_TIME.ethereum },
  }
}

/**
 * The rules of a block that is older than all that a node told of its chain (`eth_config` tells of no fork before the current one), as
 * its header shows them; undefined before the Merge.
 */
export function impliedRules(header: BlockHeader, { stack }: Pick<ChainRules, 'stack'>): BlockRules | undefined {
  if (header.difficulty !== 0n) return undefined
  if (stack === 'optimism') {
    const opFork = opForkOf(header)
    return { fork: ethereumForkOf(opFork), opFork }
  }
  const { fork } = rulesOfHeader(header)
  const blob = isForkActive(fork, 'cancun') ? DEFAULT_BLOB_PARAMETERS[fork] : undefined
  return blob === undefined ? { fork } : { fork, blob }
}

/** The rules of a real block: as the chain's tell, or else as its header shows them. */
export function rulesOf(header: BlockHeader, chain: ChainRules): BlockRules {
  return rulesAt(chain, header.number, header.timestamp) ?? impliedRules(header, chain) ?? rulesOfHeader(header)
}

/**
 * Whether a block is known to be older than the fork that `inferChainRules` found at the head: its header lacks what that brought. What
 * Osaka and Karst brought shows in no header.
 */
export function isOlderThanInferred(header: BlockHeader, rules: ChainRules): boolean {
  const head = rulesAt(rules, header.number, header.timestamp)
  const shown = impliedRules(header, rules)
  if (head === undefined || shown === undefined) return true
  if (head.opFork !== undefined && shown.opFork !== undefined)
    return OP_FORKS.indexOf(shown.opFork) < OP_FORKS.indexOf(head.opFork === 'karst' ? 'jovian' : head.opFork)
  return !isForkActive(shown.fork, head.fork === 'osaka' ? 'prague' : head.fork)
}

/** Jovian's extraData has version 1, Holocene's version 0; Fjord and Granite look like Ecotone. */
function opForkOf(header: BlockHeader): OpFork {
  if (header.extraData.length === 36 && header.extraData.startsWith('0x01')) return 'jovian'
  if (header.requestsHash !== undefined) return 'isthmus'
  if (header.extraData.length === 20 && header.extraData.startsWith('0x00')) return 'holocene'
  if (header.parentBeaconBlockRoot !== undefined) return 'granite'
  return header.withdrawalsRoot === undefined ? 'regolith' : 'canyon'
}
